package io.github.reactorratelimit.webflux;

import static java.util.Comparator.comparingLong;

import io.github.reactorratelimit.Decision;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;

/**
 * Writes what clients are told about their limits. The rules that let a request pass are named in {@code RateLimit-Policy}, the one that
 * binds in {@code RateLimit}: the one that denied, or else the one with least left. Nothing is told of an answer that was given
 * without knowing the key's state, nor to a response that has been committed.
 */
final class ResponseFields {

    private static final long SOONEST_SECONDS = 1;
    private static final String LEGACY_LIMIT = "X-RateLimit-Limit";
    private static final String LEGACY_REMAINING = "X-RateLimit-Remaining";
    private static final String LEGACY_RESET = "X-RateLimit-Reset";
    private static final List<String> FIELDS = List.of(
            RateLimitHeaders.STATE_FIELD, RateLimitHeaders.POLICY_FIELD, LEGACY_LIMIT, LEGACY_REMAINING, LEGACY_RESET);

    private final HeaderOptions options;
    private final Clock clock;
    private final DoubleSupplier random;

    ResponseFields(HeaderOptions options) {
        this(options, Clock.systemUTC(), () -> ThreadLocalRandom.current().nextDouble());
    }

    /** @param random yields numbers of at least 0 and less than 1 */
    ResponseFields(HeaderOptions options, Clock clock, DoubleSupplier random) {
        this.options = options;
        this.clock = clock;
        this.random = random;
    }

    /** One rule and what it decided. */
    private record Told(RateLimitRule rule, Decision decision) {

        static @Nullable Told of(RateLimitRule rule, Decision decision) {
            boolean known = !decision.degraded() || decision.resetAfter().isPresent();
            return known ? new Told(rule, decision) : null;
        }
    }

    /** No fields yet, for an answer that somebody else writes: what an earlier one left in the response goes, or it would be told twice. */
    static HttpHeaders anew(@Nullable ServerWebExchange exchange) {
        if (exchange != null && !exchange.getResponse().isCommitted()) {
            FIELDS.forEach(exchange.getResponse().getHeaders()::remove);
        }
        return new HttpHeaders();
    }

    void writeAllowed(List<Grant> grants, ServerHttpResponse response) {
        if (!response.isCommitted()) {
            writeAllowed(grants, response.getHeaders());
        }
    }

    void writeAllowed(List<Grant> grants, HttpHeaders headers) {
        List<Told> told = told(grants);
        if (!told.isEmpty()) {
            Told binding = told.size() == 1
                    ? told.get(0)
                    : told.stream()
                            .min(comparingLong(each -> each.decision().remaining()))
                            .orElseThrow();
            write(told, binding, headers);
        }
    }

    /**
     * Returns the denial, with what the client was told.
     *
     * @param before what had been granted when it was denied
     */
    RateLimitDenial writeDenied(RateLimitDenial denial, List<Grant> before, ServerHttpResponse response) {
        return writeDenied(denial, before, response.getHeaders());
    }

    RateLimitDenial writeDenied(RateLimitDenial denial, List<Grant> before, HttpHeaders headers) {
        Decision decision = denial.decision().orElse(null);
        Told binding = decision == null ? null : Told.of(denial.rule(), decision);
        if (binding == null) {
            FIELDS.forEach(headers::remove);
        } else {
            List<Told> told = told(before);
            told.add(binding);
            write(told, binding, headers);
        }
        Duration after = decision == null ? null : decision.retryAfter().orElse(null);
        headers.setCacheControl("no-store");
        if (after == null) {
            return denial;
        }
        long seconds = retryAfter(after);
        headers.set(HttpHeaders.RETRY_AFTER, RateLimitHeaders.integer(seconds));
        return denial.withRetryAfter(seconds);
    }

    private static List<Told> told(List<Grant> grants) {
        List<Told> told = new ArrayList<>(grants.size() + 1);
        for (Grant grant : grants) {
            Told one = grant.isReported() ? Told.of(grant.rule(), grant.decision()) : null;
            if (one != null) {
                told.add(one);
            }
        }
        return told;
    }

    private void write(List<Told> told, Told binding, HttpHeaders headers) {
        if (options.standard()) {
            headers.set(RateLimitHeaders.POLICY_FIELD, policies(told));
            headers.set(RateLimitHeaders.STATE_FIELD, binding.rule().headers().stateValue(binding.decision()));
        }
        if (options.legacy() != HeaderOptions.Legacy.OFF) {
            writeLegacy(binding.decision(), headers);
        }
    }

    private static String policies(List<Told> told) {
        if (told.size() == 1) {
            return told.get(0).rule().headers().policyValue(told.get(0).decision());
        }
        return told.stream()
                .map(each -> each.rule().headers().policyValue(each.decision()))
                .collect(Collectors.joining(", "));
    }

    private void writeLegacy(Decision decision, HttpHeaders headers) {
        headers.set(LEGACY_LIMIT, RateLimitHeaders.integer(decision.limit()));
        headers.set(LEGACY_REMAINING, RateLimitHeaders.integer(decision.remaining()));
        decision.retryAfter()
                .or(decision::resetAfter)
                .ifPresentOrElse(
                        after -> headers.set(LEGACY_RESET, RateLimitHeaders.integer(reset(after))),
                        () -> headers.remove(LEGACY_RESET));
    }

    private long reset(Duration after) {
        return options.legacy() == HeaderOptions.Legacy.DELTA_SECONDS
                ? RateLimitHeaders.ceilSeconds(after)
                : RateLimitHeaders.ceilSeconds(
                        Duration.between(Instant.EPOCH, clock.instant()).plus(after));
    }

    /** Never earlier than told, and never at once: rounded up, and then late by whole seconds, of which there must be some to choose from. */
    private long retryAfter(Duration after) {
        long seconds = Math.max(SOONEST_SECONDS, RateLimitHeaders.ceilSeconds(after));
        double jitter = options.retryAfterJitter();
        long latestBy = jitter == 0 ? 0 : Math.max(1, (long) (seconds * jitter));
        return seconds + (long) ((latestBy + 1) * random.getAsDouble());
    }
}
