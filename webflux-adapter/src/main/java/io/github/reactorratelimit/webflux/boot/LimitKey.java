package io.github.reactorratelimit.webflux.boot;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The key of a limit as the configuration says it: {@code ip}, {@code api-key:X-Api-Key}, {@code
 * principal or ip}.
 *
 * @param alternatives the first one that a request has counts
 */
public record LimitKey(List<Source> alternatives) {

    /** Where a key comes from. */
    public enum Kind {
        /** The client's address. */
        IP(""),
        /** The authenticated user. */
        PRINCIPAL(""),
        /** The session of the request. */
        SESSION(""),
        /** The token of {@code Authorization: Bearer}. */
        BEARER_TOKEN(""),
        /** The value of a header. */
        HEADER("<name>"),
        /** An API key in a header. */
        API_KEY("<header>"),
        /** An API key in a parameter of the query. */
        API_KEY_PARAMETER("<name>"),
        /** The value of a cookie. */
        COOKIE("<name>"),
        /** A variable of the path. */
        PATH("<pattern>#<variable>"),
        /** A bean of the application, a {@code WebKey}. */
        BEAN("<name>"),
        /** One key for all requests. */
        ALL("");

        private final String argument;

        Kind(String argument) {
            this.argument = argument;
        }

        String text() {
            return PropertyChecks.written(this);
        }

        String form() {
            return argument.isEmpty() ? text() : text() + ":" + argument;
        }
    }

    /**
     * One source of a key.
     *
     * @param kind where it comes from
     * @param argument the name of the header, cookie … ; empty if the kind needs none
     */
    public record Source(Kind kind, String argument) {

        @Override
        public String toString() {
            return argument.isEmpty() ? kind.text() : kind.text() + ":" + argument;
        }
    }

    public LimitKey {
        alternatives = List.copyOf(alternatives);
    }

    /**
     * Reads a key.
     *
     * @throws IllegalArgumentException if it is none, saying what is allowed
     */
    public static LimitKey parse(String text) {
        return new LimitKey(Arrays.stream(Objects.requireNonNull(text, "text").split("\\s+or\\s+", -1))
                .map(LimitKey::source)
                .toList());
    }

    private static Source source(String written) {
        String text = written.strip();
        int colon = text.indexOf(':');
        String name = colon < 0 ? text : text.substring(0, colon);
        String argument = colon < 0 ? "" : text.substring(colon + 1).strip();
        return Arrays.stream(Kind.values())
                .filter(kind -> kind.text().equalsIgnoreCase(name.replace('_', '-'))
                        && kind.argument.isEmpty() == argument.isEmpty())
                .findFirst()
                .map(kind -> new Source(kind, argument))
                .orElseThrow(
                        () -> new IllegalArgumentException(
                                "'" + text + "' is no key; allowed are " + allowed()
                                        + "; several in a list are one key together, 'principal or ip' is the first that a request has"));
    }

    private static String allowed() {
        return Arrays.stream(Kind.values()).map(Kind::form).collect(Collectors.joining(", "));
    }

    /** Whether it can be found only after authentication. */
    boolean needsUser() {
        return alternatives.stream().anyMatch(source -> source.kind() == Kind.PRINCIPAL);
    }

    /** Whether only authenticated requests have it. */
    boolean isOnlyOfUsers() {
        return alternatives.stream().allMatch(source -> source.kind() == Kind.PRINCIPAL);
    }

    @Override
    public String toString() {
        return alternatives.stream().map(Source::toString).collect(Collectors.joining(" or "));
    }
}
