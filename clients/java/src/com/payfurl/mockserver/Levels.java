package com.payfurl.mockserver;

import java.util.Comparator;
import java.util.List;

/** The words of {@link MockserverTest#findings()}. The server has others, and would take {@code none} for the strictest. */
final class Levels {
    private static final List<String> KNOWN = List.of("off", "note", "warning", "error");

    private Levels() {}

    /** Throws {@link MockserverError} for a word that is none of them, with the nearest. */
    static void refuseUnknown(String got) {
        if (KNOWN.contains(got)) return;
        String nearest = KNOWN.stream().min(Comparator.comparingInt(one -> distance(got.toLowerCase(), one))).orElseThrow();
        String hint = distance(got.toLowerCase(), nearest) <= got.length() / 3 ? " - did you mean '" + nearest + "'?" : "";
        throw new MockserverError("findings: got '" + got + "'" + hint + ", allowed: " + String.join(", ", KNOWN));
    }

    /** How many letters must be added, taken away or changed. */
    private static int distance(String one, String other) {
        int[] before = new int[other.length() + 1];
        for (int place = 0; place <= other.length(); place++) before[place] = place;
        for (int row = 1; row <= one.length(); row++) {
            int[] now = new int[other.length() + 1];
            now[0] = row;
            for (int place = 1; place <= other.length(); place++) {
                int changed = before[place - 1] + (one.charAt(row - 1) == other.charAt(place - 1) ? 0 : 1);
                now[place] = Math.min(changed, Math.min(before[place], now[place - 1]) + 1);
            }
            before = now;
        }
        return before[other.length()];
    }
}
