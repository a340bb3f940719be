package io.github.reactorratelimit.webflux.client;

import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.function.client.ClientResponse;

/**
 * What an answer says about the limits of its server, no further ahead than anybody is believed.
 *
 * @param pauseNanos how long nothing should be sent; 0 if it does not say so
 * @param paceNanos the time that what is left gives to each call; 0 if it does not say so
 * @param paceForNanos the most that answers which come together can add up to: what is left has to last no longer
 * @param malformed whether something was not understood
 */
record ServerLimitHint(long pauseNanos, long paceNanos, long paceForNanos, boolean malformed) {

    /** Nothing was understood. */
    static final ServerLimitHint MALFORMED = new ServerLimitHint(0, 0, 0, true);

    private static final int TOO_MANY_REQUESTS = 429;
    private static final int SERVICE_UNAVAILABLE = 503;

    static ServerLimitHint of(ClientResponse answer, ServerLimitSpec heeded) {
        int status = answer.statusCode().value();
        ClientResponse.Headers headers = answer.headers();
        String date = first(headers.header("Date"));
        Clock clock = heeded.clock();

        boolean refused = status == TOO_MANY_REQUESTS || status == SERVICE_UNAVAILABLE;
        List<String> lines = heeded.heedsRetryAfter() && refused ? headers.header(RetryAfter.FIELD) : List.of();
        RetryAfter.Named named = RetryAfter.of(lines, date, clock);
        // A time that has passed says nothing about what is left.
        Optional<Duration> retryAfter = named.time().filter(time -> !time.isZero());

        QuotaFields fields = new QuotaFields(headers::header, () -> RetryAfter.now(date, clock));
        if (heeded.heedsRateLimitFields()) {
            fields.readDrafts();
        }
        if (heeded.heedsLegacyFields() && fields.quotas().isEmpty()) {
            fields.readLegacy();
        }
        boolean malformed = fields.malformed() || named.malformed();
        long longest = heeded.maxPause().toNanos();
        ServerLimitHint word = new ServerLimitHint(
                retryAfter.map(time -> capped(time, longest)).orElse(0L), 0, 0, malformed);
        for (Quota quota : fields.quotas()) {
            long until = capped(Duration.ofSeconds(quota.seconds()), longest);
            word = quota.remaining() > 0
                    ? word.pacedAtMost(quota.remaining(), until, quota.endless() ? longest : until)
                    : retryAfter.isPresent() ? word : word.pausedAtLeast(until);
        }
        return word;
    }

    private ServerLimitHint pausedAtLeast(long nanos) {
        return new ServerLimitHint(Math.max(pauseNanos, nanos), paceNanos, paceForNanos, malformed);
    }

    /** Of several limits the one that gives least time to each call, rounded up. */
    private ServerLimitHint pacedAtMost(long calls, long nanos, long mostNanos) {
        long each = -Math.floorDiv(-nanos, calls);
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
