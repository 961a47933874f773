using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace Payfurl.Mockserver
{
    /// <summary>JSON as dictionaries, lists, texts, decimals and booleans: not every platform has a reader of it.</summary>
    public sealed class Json
    {
        private readonly string text;
        private int at;

        private Json(string text)
        {
            this.text = text;
        }

        /// <summary>The value of a JSON text. Throws <see cref="FormatException"/> for anything else.</summary>
        public static object Read(string text)
        {
            var reader = new Json(text);
            var value = reader.Value();
            reader.Blanks();
            if (reader.at != text.Length) throw reader.Wrong();
            return value;
        }

        /// <summary>A JSON text of a value.</summary>
        public static string Write(object value)
        {
            if (value == null) return "null";
            if (value is bool) return (bool)value ? "true" : "false";
            if (value is string) return Quoted((string)value);
            var map = value as IDictionary;
            if (map != null)
                return "{" + string.Join(",", map.Keys.Cast<object>().Select(name => Quoted(name.ToString()) + ":" + Write(map[name]))) + "}";
            var items = value as IEnumerable;
            if (items != null) return "[" + string.Join(",", items.Cast<object>().Select(Write)) + "]";
            var number = value as IFormattable;
            return number == null ? Quoted(value.ToString()) : number.ToString(null, CultureInfo.InvariantCulture);
        }

        private static string Quoted(string words)
        {
            var made = new StringBuilder("\"");
            foreach (var one in words)
            {
                if (one == '"' || one == '\\') made.Append('\\').Append(one);
                else if (one < ' ') made.Append("\\u").Append(((int)one).ToString("x4"));
                else made.Append(one);
            }
            return made.Append('"').ToString();
        }

        private object Value()
        {
            Blanks();
            switch (Peek())
            {
                case '{': return Map();
                case '[': return List();
                case '"': return String();
            }
            var start = at;
            while (at < text.Length && "+-.0123456789eEtruefalsn".IndexOf(text[at]) >= 0) at++;
            var word = text.Substring(start, at - start);
            switch (word)
            {
                case "true": return true;
                case "false": return false;
                case "null": return null;
            }
            if (!decimal.TryParse(word, NumberStyles.Float, CultureInfo.InvariantCulture, out var number)) throw Wrong();
            return number;
        }

        private Dictionary<string, object> Map()
        {
            var found = new Dictionary<string, object>();
            at++;
            for (Blanks(); Peek() != '}'; Blanks())
            {
                var name = String();
                Blanks();
                Expect(':');
                found[name] = Value();
                Blanks();
                if (Peek() == ',') at++;
            }
            at++;
            return found;
        }

        private List<object> List()
        {
            var found = new List<object>();
            at++;
            for (Blanks(); Peek() != ']'; Blanks())
            {
                found.Add(Value());
                Blanks();
                if (Peek() == ',') at++;
            }
            at++;
            return found;
        }

        private string String()
        {
            Expect('"');
            var made = new StringBuilder();
            while (Peek() != '"')
            {
                var one = text[at++];
                if (one != '\\')
                {
                    made.Append(one);
                    continue;
                }
                var escaped = text[at++];
                var place = "bfnrt".IndexOf(escaped);
                if (escaped == 'u')
                {
                    made.Append((char)int.Parse(text.Substring(at, 4), NumberStyles.HexNumber, CultureInfo.InvariantCulture));
                    at += 4;
                }
                else
                {
                    made.Append(place < 0 ? escaped : "\b\f\n\r\t"[place]);
                }
            }
            at++;
            return made.ToString();
        }

        private void Expect(char wanted)
        {
            if (Peek() != wanted) throw Wrong();
            at++;
        }

        private char Peek()
        {
            return at < text.Length ? text[at] : throw Wrong();
        }

        private void Blanks()
        {
            while (at < text.Length && char.IsWhiteSpace(text[at])) at++;
        }

        private FormatException Wrong()
        {
            return new FormatException("no JSON at character " + at);
        }
    }
}
