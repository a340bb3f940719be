package io.github.reactorratelimit.webflux;

import static java.util.Comparator.comparingLong;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.WarmUp;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.stream.Collectors;
import org.springframework.http.HttpHeaders;

/**
 * Writes the fields {@code RateLimit-Policy} and {@code RateLimit} of draft-ietf-httpapi-ratelimit-headers-10 as
 * structured fields (RFC 9651), {@code Retry-After}, and the older {@code X-RateLimit-} fields.
 *
 * <pre>{@code
 * RateLimit-Policy: "burst";q=100;w=60
 * RateLimit: "burst";r=0;t=5
 * Retry-After: 5
 * }</pre>
 *
 * <p>{@code RateLimit-Policy} lists the rules that allowed the request and the one that denied it. {@code RateLimit}
 * describes the rule that binds: the one that denied, else the one with least left. {@code w} is the time in which the
 * quota {@code q} comes back: the limit, or more if the limit comes back in a fraction of a second, so that
 * {@code q / w} is the rate; a {@link WarmUp} has no constant one and no {@code w}. {@code t} is the time until the denied request would be allowed, else until {@code r}
 * grows; it is omitted if the store does not know it. {@code qu} is the unit of
 * {@code q} and {@code r} unless that is requests. Times are whole seconds, rounded up. A decision that was made
 * without knowing the key's state is not reported.
 */
final class RateLimitHeaderWriter {

    static final String POLICY_FIELD = "RateLimit-Policy";
    static final String STATE_FIELD = "RateLimit";

    private static final String LEGACY_LIMIT = "X-RateLimit-Limit";
    private static final String LEGACY_REMAINING = "X-RateLimit-Remaining";
    private static final String LEGACY_RESET = "X-RateLimit-Reset";
    private static final List<String> FIELDS =
            List.of(STATE_FIELD, POLICY_FIELD, LEGACY_LIMIT, LEGACY_REMAINING, LEGACY_RESET);

    /** The largest integer of a structured field. */
    private static final long MAX_INTEGER = 999_999_999_999_999L;

    private final boolean standard;
    private final HeaderOptions.Legacy legacy;
    private final double retryAfterJitter;
    private final Clock clock;
    private final DoubleSupplier random;

    /** The last policy field of each rule, by its name: the same for all keys without a policy of their own. */
    private final Map<String, CachedPolicyHeader> policyHeaders = new ConcurrentHashMap<>();

    private record CachedPolicyHeader(long limit, RateLimitPolicy policy, String name, String value) {}

    RateLimitHeaderWriter(HeaderOptions options) {
        this(options, Clock.systemUTC(), () -> ThreadLocalRandom.current().nextDouble());
    }

    /** @param random yields numbers of at least 0 and less than 1 */
    RateLimitHeaderWriter(HeaderOptions options, Clock clock, DoubleSupplier random) {
        this.standard = options.standard();
        this.legacy = options.legacy();
        this.retryAfterJitter = options.retryAfterJitter();
        this.clock = clock;
        this.random = random;
    }

    static void remove(HttpHeaders headers) {
        FIELDS.forEach(headers::remove);
    }

    void writeAllowed(List<Grant> grants, HttpHeaders headers) {
        List<Grant> reported = reported(grants);
        if (reported.size() == 1) {
            write(reported, reported.get(0), headers);
        } else if (!reported.isEmpty()) {
            Grant binding = reported.stream()
                    .min(comparingLong(grant -> grant.decision().remaining()))
                    .orElseThrow();
            write(reported, binding, headers);
        }
    }

    /** Returns the denial with the Retry-After that was written. */
    RateLimitDenial writeDenied(RateLimitDenial denial, List<Grant> grantsBefore, HttpHeaders headers) {
        Decision decision = denial.decision();
        if (decision == null || !isKnown(decision)) {
            remove(headers);
        } else {
            Grant binding = new Grant(denial.rule(), denial.rule().limiter(), decision, null);
            List<Grant> reported = reported(grantsBefore);
            reported.add(binding);
            write(reported, binding, headers);
        }
        headers.setCacheControl("no-store");
        Duration after = decision == null ? null : decision.retryAfter().orElse(null);
        if (after == null) {
            return denial;
        }
        long seconds = retryAfter(after);
        headers.set(HttpHeaders.RETRY_AFTER, integer(seconds));
        return denial.withRetryAfter(Duration.ofSeconds(seconds));
    }

    private static List<Grant> reported(List<Grant> grants) {
        List<Grant> reported = new ArrayList<>(grants.size() + 1);
        for (Grant grant : grants) {
            if (grant.isReported() && isKnown(grant.decision())) {
                reported.add(grant);
            }
        }
        return reported;
    }

    private static boolean isKnown(Decision decision) {
        return !decision.degraded() || decision.resetAfter().isPresent();
    }

    private void write(List<Grant> reported, Grant binding, HttpHeaders headers) {
        if (standard) {
            headers.set(
                    POLICY_FIELD,
                    reported.size() == 1
                            ? policyHeader(binding).value
                            : reported.stream()
                                    .map(grant -> policyHeader(grant).value)
                                    .collect(Collectors.joining(", ")));
            headers.set(STATE_FIELD, state(binding));
        }
        if (legacy != HeaderOptions.Legacy.OFF) {
            writeLegacy(binding.decision(), headers);
        }
    }

    private CachedPolicyHeader policyHeader(Grant grant) {
        Decision decision = grant.decision();
        String name = grant.rule().name();
        CachedPolicyHeader last = policyHeaders.get(name);
        if (last == null || last.limit != decision.limit() || !decision.policy().equals(last.policy)) {
            String quoted = quoted(name);
            last = new CachedPolicyHeader(
                    decision.limit(), decision.policy(), quoted, quoted + policy(grant.rule(), decision));
            policyHeaders.put(name, last);
        }
        return last;
    }

    private static String policy(RateLimitRule rule, Decision decision) {
        String unit = rule.quotaUnit();
        String ofUnit = unit == null ? "" : ";qu=\"" + unit + "\"";
        Duration window = decision.policy().timeFor(decision.limit()).orElse(null);
        if (window == null || decision.policy().parts().stream().anyMatch(WarmUp.class::isInstance)) {
            return ";q=" + quota(decision.limit(), rule) + ofUnit;
        }
        long seconds = wholeSeconds(window, decision.policy().period());
        double quota = decision.limit() * (seconds / (window.getSeconds() + window.getNano() / 1e9));
        return ";q=" + quota((long) (quota + 1e-6), rule) + ofUnit + ";w=" + integer(seconds);
    }

    /** The window, or if it is not in whole seconds the least multiple above it of the policy's period, or of a second. */
    private static long wholeSeconds(Duration window, Duration period) {
        long unit = window.toNanosPart() == 0 || period.toNanosPart() != 0 ? 1 : period.toSeconds();
        long seconds = ceilSeconds(window);
        return seconds + Math.floorMod(-seconds, unit);
    }

    private String state(Grant grant) {
        Decision decision = grant.decision();
        Duration after = decision.retryAfter().or(decision::moreAfter).orElse(null);
        String left = policyHeader(grant).name + ";r=" + quota(decision.remaining(), grant.rule());
        return after == null ? left : left + ";t=" + integer(ceilSeconds(after));
    }

    /** In the unit of the rule; saturates. */
    private static String quota(long permits, RateLimitRule rule) {
        return integer(permits > MAX_INTEGER / rule.quotaPerPermit() ? MAX_INTEGER : permits * rule.quotaPerPermit());
    }

    private void writeLegacy(Decision decision, HttpHeaders headers) {
        headers.set(LEGACY_LIMIT, integer(decision.limit()));
        headers.set(LEGACY_REMAINING, integer(decision.remaining()));
        Duration after = decision.retryAfter().or(decision::resetAfter).orElse(null);
        if (after == null) {
            headers.remove(LEGACY_RESET);
            return;
        }
        Duration reset = legacy == HeaderOptions.Legacy.DELTA_SECONDS
                ? after
                : Duration.between(Instant.EPOCH, clock.instant()).plus(after);
        headers.set(LEGACY_RESET, integer(ceilSeconds(reset)));
    }

    /** Never earlier than the decision says and at least 1: rounded up, then later by a random number of seconds. */
    private long retryAfter(Duration after) {
        long seconds = Math.max(1, ceilSeconds(after));
        long latestBy = retryAfterJitter == 0 ? 0 : Math.max(1, (long) (seconds * retryAfterJitter));
        return seconds + (long) ((latestBy + 1) * random.getAsDouble());
    }

    private static long ceilSeconds(Duration time) {
        return time.getNano() == 0 ? time.getSeconds() : time.getSeconds() + 1;
    }

    private static String integer(long value) {
        return Long.toString(Math.min(value, MAX_INTEGER));
    }

    /** A name of printable ASCII as a string of a structured field, which is one of JSON too. */
    static String quoted(String name) {
        return '"' + name.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
