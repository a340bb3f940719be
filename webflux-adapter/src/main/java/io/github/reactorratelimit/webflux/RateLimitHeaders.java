package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;

/**
 * Tells a client about its limit: the fields {@code RateLimit-Policy} and {@code RateLimit} of
 * draft-ietf-httpapi-ratelimit-headers as structured fields (RFC 9651), and {@code Retry-After} when
 * denied. Nothing of the key is in them.
 *
 * <pre>{@code
 * RateLimit-Policy: "burst";q=100;w=60
 * RateLimit: "burst";r=0;t=5
 * Retry-After: 5
 * }</pre>
 *
 * <p>Times are whole seconds, rounded up: a client that waits for them is not too early. {@code w} is the
 * time in which the whole quota {@code q} comes back, left out below a second and where there is none.
 * {@code t} is the time until the denied request would be allowed, else until {@code r} is larger, if no other request
 * comes meanwhile; it is left out if the store does not tell.
 */
public final class RateLimitHeaders {

    /** The field that states the limit. */
    public static final String POLICY_FIELD = "RateLimit-Policy";

    /** The field that states what is left. */
    public static final String STATE_FIELD = "RateLimit";

    /** The largest integer of a structured field. */
    private static final long MAX_INTEGER = 999_999_999_999_999L;

    private final String name;

    /** What was last said about the policy: the same for all keys, unless they have policies of their own. */
    private volatile Said said = new Said(0, null, "");

    private record Said(long limit, @Nullable RateLimitPolicy policy, String value) {}

    private RateLimitHeaders(String policyName) {
        this.name = quoted(policyName);
    }

    /**
     * Headers for the limit that clients shall know by this name.
     *
     * @param policyName printable ASCII, which all clients see: never a key
     * @throws IllegalArgumentException if it is empty or holds another character
     */
    public static RateLimitHeaders named(String policyName) {
        return new RateLimitHeaders(Objects.requireNonNull(policyName, "policyName"));
    }

    /** The fields and their values, in the order in which they should be written. */
    public Map<String, String> of(Decision decision) {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put(POLICY_FIELD, policyValue(decision));
        fields.put(STATE_FIELD, stateValue(decision));
        decision.retryAfter().ifPresent(after -> fields.put(HttpHeaders.RETRY_AFTER, integer(ceilSeconds(after))));
        return Collections.unmodifiableMap(fields);
    }

    /** Sets the fields, replacing earlier ones. */
    public void write(Decision decision, HttpHeaders headers) {
        of(decision).forEach(headers::set);
    }

    String policyValue(Decision decision) {
        Said last = said;
        if (last.limit != decision.limit() || !decision.policy().equals(last.policy)) {
            last = new Said(decision.limit(), decision.policy(), describe(decision));
            said = last;
        }
        return last.value;
    }

    private String describe(Decision decision) {
        String quota = name + ";q=" + integer(decision.limit());
        return decision.policy()
                .timeFor(decision.limit())
                .filter(window -> window.compareTo(Duration.ofSeconds(1)) >= 0)
                .map(window -> quota + ";w=" + integer(ceilSeconds(window)))
                .orElse(quota);
    }

    String stateValue(Decision decision) {
        Duration after = decision.retryAfter().orElse(null);
        if (after == null) {
            after = decision.moreAfter().orElse(null);
        }
        long remaining = Math.min(decision.remaining(), MAX_INTEGER);
        return after == null
                ? name + ";r=" + remaining
                : name + ";r=" + remaining + ";t=" + Math.min(ceilSeconds(after), MAX_INTEGER);
    }

    static long ceilSeconds(Duration time) {
        return time.getNano() == 0 ? time.getSeconds() : time.getSeconds() + 1;
    }

    static String integer(long value) {
        return Long.toString(Math.min(value, MAX_INTEGER));
    }

    /** Anything but printable ASCII could split the header or hide in it. */
    static String quoted(String policyName) {
        if (policyName.isEmpty()) {
            throw new IllegalArgumentException("policyName must not be empty");
        }
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < policyName.length(); i++) {
            char c = policyName.charAt(i);
            if (c < 0x20 || c > 0x7e) {
                throw new IllegalArgumentException(
                        String.format("policyName must be printable ASCII, but character %d is U+%04X", i, (int) c));
            }
            if (c == '"' || c == '\\') {
                quoted.append('\\');
            }
            quoted.append(c);
        }
        return quoted.append('"').toString();
    }
}
