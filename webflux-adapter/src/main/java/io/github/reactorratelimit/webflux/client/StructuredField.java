package io.github.reactorratelimit.webflux.client;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntPredicate;

/**
 * Reads lists and dictionaries of structured fields (RFC 9651) as strictly as that asks for: what is wrong anywhere makes the whole field
 * count as absent. Without inner lists and display strings, which the fields about limits never hold. One pass over the text, whose
 * length the caller bounds.
 */
final class StructuredField {

    private static final int INTEGER_DIGITS = 15;
    private static final int DECIMAL_WHOLE_DIGITS = 12;
    private static final int DECIMAL_FRACTION_DIGITS = 3;

    /** What stands between commas: a value, under a name in a dictionary, and its parameters. */
    record Member(Object value, Map<String, Object> parameters) {}

    /** A word without quotes. */
    record Token(String word) {}

    /** A time, in seconds since 1970. */
    record Date(long seconds) {}

    /** Any number of bytes. */
    record Bytes(String base64) {}

    private static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;

        Malformed() {
            super(null, null, false, false);
        }
    }

    private final String text;
    private int at;

    private StructuredField(String text) {
        this.text = text;
    }

    /** The members of a list; empty if it is malformed. */
    static Optional<List<Member>> list(String text) {
        try {
            return Optional.of(new StructuredField(text).readList());
        } catch (Malformed ignored) {
            return Optional.empty();
        }
    }

    /** The members of a dictionary by their names; empty if it is malformed. */
    static Optional<Map<String, Member>> dictionary(String text) {
        try {
            return Optional.of(new StructuredField(text).readDictionary());
        } catch (Malformed ignored) {
            return Optional.empty();
        }
    }

    private List<Member> readList() throws Malformed {
        List<Member> members = new ArrayList<>();
        skip(c -> c == ' ');
        while (at < text.length()) {
            members.add(new Member(bareItem(), parameters()));
            nextMember();
        }
        return members;
    }

    private Map<String, Member> readDictionary() throws Malformed {
        Map<String, Member> members = new LinkedHashMap<>();
        skip(c -> c == ' ');
        while (at < text.length()) {
            String name = key();
            Object value = takeIf('=') ? bareItem() : true;
            members.put(name, new Member(value, parameters()));
            nextMember();
        }
        return members;
    }

    /** Behind a comma, or at the end. */
    private void nextMember() throws Malformed {
        skip(c -> c == ' ' || c == '\t');
        if (at < text.length()) {
            require(takeIf(','));
            skip(c -> c == ' ' || c == '\t');
            require(at < text.length());
        }
    }

    private Map<String, Object> parameters() throws Malformed {
        Map<String, Object> parameters = new HashMap<>();
        while (takeIf(';')) {
            skip(c -> c == ' ');
            String name = key();
            parameters.put(name, takeIf('=') ? bareItem() : true);
        }
        return parameters;
    }

    private String key() throws Malformed {
        int from = at;
        require(isLower(peek()) || peek() == '*');
        skip(c -> isLower(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '*');
        return text.substring(from, at);
    }

    private Object bareItem() throws Malformed {
        int first = peek();
        if (first == '-' || isDigit(first)) {
            return number();
        }
        if (isLetter(first) || first == '*') {
            return token();
        }
        at++;
        return switch (first) {
            case '"' -> string();
            case ':' -> bytes();
            case '?' -> bool();
            case '@' -> date();
            default -> throw new Malformed();
        };
    }

    private Object number() throws Malformed {
        int from = at;
        takeIf('-');
        int whole = run(StructuredField::isDigit);
        require(whole > 0);
        if (!takeIf('.')) {
            require(whole <= INTEGER_DIGITS);
            return Long.parseLong(text.substring(from, at));
        }
        int fraction = run(StructuredField::isDigit);
        require(whole <= DECIMAL_WHOLE_DIGITS && fraction > 0 && fraction <= DECIMAL_FRACTION_DIGITS);
        return new BigDecimal(text.substring(from, at));
    }

    private Date date() throws Malformed {
        if (number() instanceof Long seconds) {
            return new Date(seconds);
        }
        throw new Malformed();
    }

    private String string() throws Malformed {
        StringBuilder string = new StringBuilder();
        while (!takeIf('"')) {
            int c = peek();
            at++;
            if (c == '\\') {
                c = peek();
                at++;
                require(c == '"' || c == '\\');
            }
            require(c >= ' ' && c <= '~');
            string.append((char) c);
        }
        return string.toString();
    }

    private Token token() {
        int from = at;
        skip(c -> isLetter(c) || isDigit(c) || "!#$%&'*+-.^_`|~:/".indexOf(c) >= 0);
        return new Token(text.substring(from, at));
    }

    private Bytes bytes() throws Malformed {
        int end = text.indexOf(':', at);
        require(end >= 0);
        String base64 = text.substring(at, end);
        at = end + 1;
        try {
            Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException notBase64) {
            throw new Malformed();
        }
        return new Bytes(base64);
    }

    private Boolean bool() throws Malformed {
        boolean isTrue = takeIf('1');
        require(isTrue || takeIf('0'));
        return isTrue;
    }

    private int peek() {
        return at < text.length() ? text.charAt(at) : -1;
    }

    private boolean takeIf(char expected) {
        boolean there = peek() == expected;
        at += there ? 1 : 0;
        return there;
    }

    private void skip(IntPredicate skipped) {
        run(skipped);
    }

    private int run(IntPredicate taken) {
        int from = at;
        while (at < text.length() && taken.test(text.charAt(at))) {
            at++;
        }
        return at - from;
    }

    private static void require(boolean holds) throws Malformed {
        if (!holds) {
            throw new Malformed();
        }
    }

    private static boolean isDigit(int c) {
        return c >= '0' && c <= '9';
    }

    private static boolean isLower(int c) {
        return c >= 'a' && c <= 'z';
    }

    private static boolean isLetter(int c) {
        return isLower(c) || (c >= 'A' && c <= 'Z');
    }
}
