package io.github.reactorratelimit.examples.replay;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A policy in words: {@code token-bucket:10/s:burst=20}, {@code fixed-window:1000/15m}, {@code leaky-bucket:5/s:queue=50}. */
public final class PolicyText {

    private static final Pattern FORM =
            Pattern.compile("(?<kind>[a-z-]+):(?<limit>[0-9]{1,9})/(?<count>[0-9]{0,6})(?<unit>ms|s|m|h|d)"
                    + "(:(?<option>burst|queue|over)=(?<value>[0-9]{1,9})(?<valueUnit>ms|s|m|h|d)?)?");
    private static final Map<String, Duration> UNITS = Map.of(
            "ms", Duration.ofMillis(1),
            "s", Duration.ofSeconds(1),
            "m", Duration.ofMinutes(1),
            "h", Duration.ofHours(1),
            "d", Duration.ofDays(1));

    private PolicyText() {}

    /**
     * The policy that a text describes.
     *
     * @throws IllegalArgumentException if it describes none, with what is wrong
     */
    public static RateLimitPolicy parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException(
                    "\"" + shown(text)
                            + "\" is no policy: write kind:limit/period, such as token-bucket:10/s:burst=20, gcra:100/m,"
                            + " leaky-bucket:5/s:queue=50, warm-up:100/s:over=30s, fixed-window:1000/h, sliding-log:100/m or sliding-counter:1000/15m");
        }
        long limit = Long.parseLong(form.group("limit"));
        Duration period = period(form.group("count"), form.group("unit"));
        return policy(
                form.group("kind"),
                limit,
                period,
                new Option(form.group("option"), form.group("value"), form.group("valueUnit")));
    }

    private static Duration period(String count, String unit) {
        Duration one = UNITS.getOrDefault(unit, Duration.ZERO);
        return one.multipliedBy(count.isEmpty() ? 1 : Long.parseLong(count));
    }

    private record Option(
            @Nullable String name,
            @Nullable String value,
            @Nullable String unit) {

        long of(String wanted, long unlessGiven) {
            if (name == null || value == null) {
                return unlessGiven;
            }
            if (!name.equals(wanted)) {
                throw new IllegalArgumentException(
                        name + " is not for this kind of policy" + (wanted.isEmpty() ? "" : ", which has a " + wanted));
            }
            if (unit != null) {
                throw new IllegalArgumentException(wanted + " is a number without a unit, was " + value + unit);
            }
            return Long.parseLong(value);
        }

        Duration time(String wanted) {
            if (!wanted.equals(name) || value == null || unit == null) {
                throw new IllegalArgumentException(
                        "this kind of policy needs :" + wanted + "= and a time, such as :" + wanted + "=30s");
            }
            return period(value, unit);
        }
    }

    private static RateLimitPolicy policy(String kind, long limit, Duration period, Option option) {
        return switch (kind) {
            case "token-bucket" -> TokenBucket.of(limit, period).withBurst(option.of("burst", limit));
            case "gcra" -> Gcra.of(limit, period).withBurst(option.of("burst", limit));
            case "leaky-bucket" ->
                LeakyBucket.of(limit, period).withQueue(option.of("queue", LeakyBucket.DEFAULT_QUEUE_CAPACITY));
            case "warm-up" -> WarmUp.of(limit, period, option.time("over"));
            case "fixed-window" -> FixedWindow.of(limit, windowOnly(period, option));
            case "sliding-log" -> SlidingWindowLog.of(limit, windowOnly(period, option));
            case "sliding-counter" -> SlidingWindowCounter.of(limit, windowOnly(period, option));
            default ->
                throw new IllegalArgumentException(
                        "\"" + shown(kind) + "\" is no kind of policy: take token-bucket, gcra,"
                                + " leaky-bucket, warm-up, fixed-window, sliding-log or sliding-counter");
        };
    }

    private static Duration windowOnly(Duration window, Option option) {
        option.of("", 0);
        return window;
    }

    private static String shown(String text) {
        return text.length() <= 60 ? text : text.substring(0, 60) + "…";
    }
}
