package io.github.reactorratelimit.examples.replay;

import java.util.regex.Pattern;

/** Text of a log, which anybody may have written, for a terminal. */
final class TerminalText {

    /** Those that move the cursor, colour or hide, in ASCII and beyond. */
    private static final Pattern COMMANDS = Pattern.compile("[\\p{Cc}\\p{Cf}]");

    private TerminalText() {}

    /** At most so many characters of it, none of which does anything but be seen. */
    static String of(String text, int most) {
        String shown = text.length() <= most ? text : text.substring(0, most - 1) + "…";
        return COMMANDS.matcher(shown).replaceAll("?");
    }
}
