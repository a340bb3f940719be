package io.github.reactorratelimit.webflux;

import java.util.BitSet;
import java.util.Objects;
import org.springframework.http.HttpStatusCode;

/** A set of HTTP status codes, such as {@code "401, 403, 5xx"}. */
public final class StatusSet {

    private static final int LOWEST = 100;
    private static final int HIGHEST = 999;

    private final String text;
    private final BitSet codes;

    private StatusSet(String text, BitSet codes) {
        this.text = text;
        this.codes = codes;
    }

    /** These codes. */
    public static StatusSet of(HttpStatusCode... statuses) {
        StringBuilder text = new StringBuilder();
        for (HttpStatusCode status : statuses) {
            text.append(text.isEmpty() ? "" : ",").append(status.value());
        }
        return parse(text.toString());
    }

    /**
     * Reads codes ({@code 401}), ranges ({@code 400-404}) and classes ({@code 5xx}), separated by commas.
     *
     * @throws IllegalArgumentException if it is none of these, naming what
     */
    public static StatusSet parse(String text) {
        BitSet codes = new BitSet();
        for (String part : Objects.requireNonNull(text, "text").split(",", -1)) {
            add(part.strip(), codes);
        }
        return new StatusSet(text, codes);
    }

    private static void add(String part, BitSet codes) {
        if (part.matches("[1-9][xX]{2}")) {
            int first = (part.charAt(0) - '0') * 100;
            codes.set(first, first + 100);
        } else if (part.matches("[1-9]\\d{2}")) {
            codes.set(Integer.parseInt(part));
        } else if (part.matches("[1-9]\\d{2}\\s*-\\s*[1-9]\\d{2}")) {
            String[] ends = part.split("\\s*-\\s*", 2);
            addRange(part, Integer.parseInt(ends[0]), Integer.parseInt(ends[1]), codes);
        } else {
            throw new IllegalArgumentException(
                    "a status must be a code like 401, a range like 400-404 or a class like 5xx, was '" + part + "'");
        }
    }

    private static void addRange(String part, int from, int to, BitSet codes) {
        if (from > to) {
            throw new IllegalArgumentException(
                    "a range of status codes must begin with the lower one, was '" + part + "'");
        }
        codes.set(from, to + 1);
    }

    /** Whether the status is one of these. */
    public boolean contains(HttpStatusCode status) {
        int code = status.value();
        return code >= LOWEST && code <= HIGHEST && codes.get(code);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof StatusSet set && set.codes.equals(codes);
    }

    @Override
    public int hashCode() {
        return codes.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }
}
