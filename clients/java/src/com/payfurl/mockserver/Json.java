package com.payfurl.mockserver;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, texts, numbers and booleans: the platform has no reader of it. */
public final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The value of a JSON text. Throws {@link IllegalArgumentException} for anything else. */
    public static Object read(String text) {
        Json reader = new Json(text);
        Object value = reader.value();
        reader.blanks();
        if (reader.at != text.length()) throw reader.wrong();
        return value;
    }

    /** A JSON text of a value. */
    public static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            List<String> members = new ArrayList<>();
            map.forEach((name, one) -> members.add(quoted(String.valueOf(name)) + ":" + write(one)));
            return "{" + String.join(",", members) + "}";
        }
        if (value instanceof Iterable<?> items) {
            List<String> written = new ArrayList<>();
            items.forEach(item -> written.add(write(item)));
            return "[" + String.join(",", written) + "]";
        }
        return value == null || value instanceof Number || value instanceof Boolean ? String.valueOf(value) : quoted(value.toString());
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char one : text.toCharArray()) {
            if (one == '"' || one == '\\') out.append('\\').append(one);
            else if (one < ' ') out.append(String.format("\\u%04x", (int) one));
            else out.append(one);
        }
        return out.append('"').toString();
    }

    private Object value() {
        blanks();
        char first = peek();
        if (first == '{') return object();
        if (first == '[') return list();
        if (first == '"') return string();
        int start = at;
        while (at < text.length() && "+-.0123456789eEtruefalsn".indexOf(text.charAt(at)) >= 0) at++;
        String word = text.substring(start, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            case "" -> throw wrong();
            default -> new BigDecimal(word);
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        at++;
        for (blanks(); peek() != '}'; blanks()) {
            String name = string();
            blanks();
            expect(':');
            found.put(name, value());
            blanks();
            if (peek() == ',') {
                at++;
                blanks();
            }
        }
        at++;
        return found;
    }

    private List<Object> list() {
        List<Object> found = new ArrayList<>();
        at++;
        for (blanks(); peek() != ']'; blanks()) {
            found.add(value());
            blanks();
            if (peek() == ',') at++;
        }
        at++;
        return found;
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (peek() != '"') {
            char one = text.charAt(at++);
            if (one != '\\') {
                out.append(one);
                continue;
            }
            char escaped = text.charAt(at++);
            int place = "bfnrt".indexOf(escaped);
            if (escaped == 'u') {
                out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            } else {
                out.append(place < 0 ? escaped : "\b\f\n\r\t".charAt(place));
            }
        }
        at++;
        return out.toString();
    }

    private void expect(char wanted) {
        if (peek() != wanted) throw wrong();
        at++;
    }

    private char peek() {
        if (at >= text.length()) throw wrong();
        return text.charAt(at);
    }

    private void blanks() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("no JSON at character " + at + ": " + text.substring(0, Math.min(200, text.length())));
    }
}
