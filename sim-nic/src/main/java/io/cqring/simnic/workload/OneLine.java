package io.cqring.simnic.workload;

import java.util.Locale;

/** Makes foreign text fit for a one-line error: control and invisible characters are escaped. */
final class OneLine {
    private static final int LONGEST = 160;

    private OneLine() {}

    /** For values from a file: long ones are cut, a blank one is said to be blank. */
    static String of(String value) {
        if (value.isEmpty()) {
            return "(blank)";
        }
        String start = escaped(value, LONGEST);
        return value.codePointCount(0, value.length()) > LONGEST ? start + "..." : start;
    }

    /** For names of files, whose end matters most: never cut. */
    static String whole(String name) {
        return escaped(name, Long.MAX_VALUE);
    }

    private static String escaped(String text, long limit) {
        StringBuilder line = new StringBuilder();
        text.codePoints().limit(limit).forEach(codePoint -> append(line, codePoint));
        return line.toString();
    }

    private static void append(StringBuilder line, int codePoint) {
        switch (Character.getType(codePoint)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE,
                    Character.UNASSIGNED -> line.append(String.format(Locale.ROOT, "\\u%04x", codePoint));
            default -> line.appendCodePoint(codePoint);
        }
    }
}
