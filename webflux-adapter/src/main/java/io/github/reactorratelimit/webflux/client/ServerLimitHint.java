package io.github.reactorratelimit.webflux.client;

import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.function.client.ClientResponse;

/**
 * What an answer says about the limits of its server, no further ahead than the longest pause.
 *
 * @param pauseNanos how long nothing should be sent; 0 if the answer does not say so
 * @param paceNanos the time of each call if the calls left are spread evenly; 0 if the answer does not say so
 * @param paceForNanos the most that the paces of several answers add up to: the calls left need not last longer
 * @param malformed whether a field was malformed
 */
record ServerLimitHint(long pauseNanos, long paceNanos, long paceForNanos, boolean malformed) {

    /** No field could be read. */
    static final ServerLimitHint MALFORMED = new ServerLimitHint(0, 0, 0, true);

    private static final int TOO_MANY_REQUESTS = 429;
    private static final int SERVICE_UNAVAILABLE = 503;

    static ServerLimitHint of(ClientResponse answer, ServerLimitSpec heeded) {
        int status = answer.statusCode().value();
        ClientResponse.Headers headers = answer.headers();
        String date = first(headers.header("Date"));
        Clock clock = heeded.clock();

        boolean refused = status == TOO_MANY_REQUESTS || status == SERVICE_UNAVAILABLE;
        List<String> lines = heeded.retryAfter() && refused ? headers.header(RetryAfter.FIELD) : List.of();
        RetryAfter.Named named = RetryAfter.of(lines, date, clock);
        // A time in the past does not say what is left.
        Optional<Duration> retryAfter = named.time().filter(time -> !time.isZero());

        QuotaFields fields = new QuotaFields(headers::header, () -> RetryAfter.now(date, clock));
        if (heeded.rateLimitFields()) {
            fields.readDrafts();
        }
        if (heeded.legacyFields() && fields.quotas().isEmpty()) {
            fields.readLegacy();
        }
        boolean malformed = fields.malformed() || named.malformed();
        long longest = heeded.maxPause().toNanos();
        ServerLimitHint hint = new ServerLimitHint(
                retryAfter.map(time -> capped(time, longest)).orElse(0L), 0, 0, malformed);
        for (Quota quota : fields.quotas()) {
            long until = capped(Duration.ofSeconds(quota.seconds()), longest);
            if (quota.remaining() > 0) {
                hint = hint.pacedAtMost(quota.paceNanos(until), quota.endless() ? longest : until);
            } else if (retryAfter.isEmpty()) {
                hint = hint.pausedAtLeast(quota.pauseNanos(until));
            }
        }
        return hint;
    }

    private ServerLimitHint pausedAtLeast(long nanos) {
        return new ServerLimitHint(Math.max(pauseNanos, nanos), paceNanos, paceForNanos, malformed);
    }

    /** The slowest of several paces. */
    private ServerLimitHint pacedAtMost(long each, long mostNanos) {
        return each > paceNanos ? new ServerLimitHint(pauseNanos, each, mostNanos, malformed) : this;
    }

    private static long capped(Duration time, long longestNanos) {
        Duration longest = Duration.ofNanos(longestNanos);
        return time.compareTo(longest) > 0 ? longestNanos : time.toNanos();
    }

    private static @Nullable String first(List<String> lines) {
        return lines.isEmpty() ? null : lines.get(0);
    }
}
