package io.github.reactorratelimit.webflux;

import java.util.BitSet;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.http.HttpStatusCode;

/** A set of HTTP status codes, such as {@code "401, 403, 5xx"}. */
public final class StatusSet {

    private static final Pattern PART =
            Pattern.compile("\\s*(?:([1-9]\\d\\d)(?:\\s*-\\s*([1-9]\\d\\d))?|([1-9])[xX]{2})\\s*");

    private final String text;
    private final BitSet codes = new BitSet();

    private StatusSet(String text) {
        this.text = Objects.requireNonNull(text, "text");
    }

    /**
     * Reads codes ({@code 401}), ranges ({@code 400-404}) and classes ({@code 5xx}), separated by commas.
     *
     * @throws IllegalArgumentException if a part is none of these, naming it
     */
    public static StatusSet parse(String text) {
        StatusSet statuses = new StatusSet(text);
        for (String part : text.split(",", -1)) {
            Matcher matcher = PART.matcher(part);
            if (!matcher.matches()) {
                throw new IllegalArgumentException(
                        "a status must be a code like 401, a range like 400-404 or a class like 5xx, was '"
                                + part.strip() + "'");
            }
            boolean isClass = matcher.group(3) != null;
            int from = Integer.parseInt(isClass ? matcher.group(3) + "00" : matcher.group(1));
            int to = isClass ? from + 99 : matcher.group(2) == null ? from : Integer.parseInt(matcher.group(2));
            if (from > to) {
                throw new IllegalArgumentException(
                        "a range of status codes must begin with the lower one, was '" + part.strip() + "'");
            }
            statuses.codes.set(from, to + 1);
        }
        return statuses;
    }

    /** Whether the status is one of these. */
    public boolean contains(HttpStatusCode status) {
        return codes.get(status.value());
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
