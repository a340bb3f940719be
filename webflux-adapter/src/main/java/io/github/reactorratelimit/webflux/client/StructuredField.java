package io.github.reactorratelimit.webflux.client;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads lists and dictionaries of structured fields (RFC 9651). As the RFC asks, a mistake anywhere makes the whole
 * field count as absent. Inner lists and display strings, which the fields about limits never hold, count as mistakes.
 * The caller bounds the length of the text.
 */
final class StructuredField {

    private static final String KEY = "([a-z*][a-z0-9_.*-]*+)(=)?";
    private static final Pattern NAME = Pattern.compile(KEY);
    private static final Pattern PARAMETER = Pattern.compile("; *+" + KEY);
    private static final Pattern BLANKS = Pattern.compile(" *+");

    /** A comma with another member behind it, or the end. */
    private static final Pattern SEPARATOR = Pattern.compile("[ \\t]*+(?:\\z|,[ \\t]*+(?!\\z))");

    private static final Pattern ITEM = Pattern.compile("(?<decimal>-?[0-9]{1,12}\\.[0-9]{1,3})"
            + "|(?<integer>-?[0-9]{1,15})"
            + "|@(?<date>-?[0-9]{1,15})"
            + "|\"(?<string>(?:[ !#-\\[\\]-~]|\\\\[\"\\\\])*+)\""
            + "|(?<token>[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*+)"
            + "|:(?<bytes>[A-Za-z0-9+/=]*+):"
            + "|\\?(?<bool>[01])");

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

    /** Its region is the text that has not been read. */
    private final Matcher rest;

    private StructuredField(String text) {
        this.rest = BLANKS.matcher(text);
        take(BLANKS);
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
        while (hasMore()) {
            members.add(new Member(item(), parameters()));
            require(SEPARATOR);
        }
        return members;
    }

    private Map<String, Member> readDictionary() throws Malformed {
        Map<String, Member> members = new LinkedHashMap<>();
        while (hasMore()) {
            MatchResult name = require(NAME);
            members.put(name.group(1), new Member(valueOf(name), parameters()));
            require(SEPARATOR);
        }
        return members;
    }

    private Map<String, Object> parameters() throws Malformed {
        Map<String, Object> parameters = new HashMap<>();
        for (MatchResult name = take(PARAMETER); name != null; name = take(PARAMETER)) {
            parameters.put(name.group(1), valueOf(name));
        }
        return parameters;
    }

    /** A name without a value means true. */
    private Object valueOf(MatchResult name) throws Malformed {
        return name.group(2) == null ? true : item();
    }

    private Object item() throws Malformed {
        if (!rest.usePattern(ITEM).lookingAt()) {
            throw new Malformed();
        }
        Object value = valueOf(rest);
        rest.region(rest.end(), rest.regionEnd());
        return value;
    }

    private static Object valueOf(Matcher item) throws Malformed {
        if (item.group("decimal") != null) {
            return new BigDecimal(item.group());
        }
        if (item.group("integer") != null) {
            return Long.valueOf(item.group());
        }
        if (item.group("date") != null) {
            return new Date(Long.parseLong(item.group("date")));
        }
        if (item.group("string") != null) {
            return item.group("string").replaceAll("\\\\(.)", "$1");
        }
        if (item.group("token") != null) {
            return new Token(item.group());
        }
        return item.group("bytes") == null ? item.group().equals("?1") : bytes(item.group("bytes"));
    }

    private static Bytes bytes(String base64) throws Malformed {
        try {
            Base64.getDecoder().decode(base64);
            return new Bytes(base64);
        } catch (IllegalArgumentException notBase64) {
            throw new Malformed();
        }
    }

    private boolean hasMore() {
        return rest.regionStart() < rest.regionEnd();
    }

    private MatchResult require(Pattern pattern) throws Malformed {
        MatchResult found = take(pattern);
        if (found == null) {
            throw new Malformed();
        }
        return found;
    }

    private @Nullable MatchResult take(Pattern pattern) {
        if (!rest.usePattern(pattern).lookingAt()) {
            return null;
        }
        MatchResult found = rest.toMatchResult();
        rest.region(found.end(), rest.regionEnd());
        return found;
    }
}
