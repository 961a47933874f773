using System;
using System.Linq;

namespace Payfurl.Mockserver
{
    /// <summary>The words of <c>Findings</c>. The server has others, and would take <c>none</c> for the strictest.</summary>
    internal static class Levels
    {
        private static readonly string[] known = { "off", "note", "warning", "error" };

        /// <summary>Throws for a word that is none of them, with the nearest.</summary>
        internal static void RefuseUnknown(string got)
        {
            if (known.Contains(got)) return;
            var word = (got ?? "").ToLowerInvariant();
            var nearest = known.OrderBy(one => Distance(word, one)).First();
            var hint = Distance(word, nearest) <= word.Length / 3 ? " - did you mean '" + nearest + "'?" : "";
            throw new MockserverError("findings: got '" + got + "'" + hint + ", allowed: " + string.Join(", ", known));
        }

        /// <summary>How many letters must be added, taken away or changed.</summary>
        private static int Distance(string one, string other)
        {
            var before = Enumerable.Range(0, other.Length + 1).ToArray();
            for (var row = 1; row <= one.Length; row++)
            {
                var now = new int[other.Length + 1];
                now[0] = row;
                for (var place = 1; place <= other.Length; place++)
                {
                    var changed = before[place - 1] + (one[row - 1] == other[place - 1] ? 0 : 1);
                    now[place] = Math.Min(changed, Math.Min(before[place], now[place - 1]) + 1);
                }
                before = now;
            }
            return before[other.Length];
        }
    }
}
