package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.FixedWindow.Alignment;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import java.time.Duration;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Policies as the vector files write them: a name and {@code argument=value}, times in microseconds. */
final class VectorPolicies {

    private VectorPolicies() {}

    static RateLimitPolicy parse(List<String> fields) {
        Map<String, String> values = fields.stream()
                .skip(1)
                .map(field -> field.split("=", 2))
                .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
        return switch (fields.get(0)) {
            case "token_bucket" ->
                new TokenBucket(
                        number(values, "capacity"),
                        number(values, "refill"),
                        micros(values, "period"),
                        TokenBucket.Refill.CONTINUOUS,
                        number(values, "initial"));
            case "stepwise_bucket" ->
                new TokenBucket(number(values, "capacity"), number(values, "refill"), micros(values, "period"))
                        .stepwise();
            case "gcra" -> new Gcra(number(values, "permits"), micros(values, "period"), number(values, "burst"));
            case "leaky_bucket" ->
                new LeakyBucket(number(values, "permits"), micros(values, "period"), number(values, "queue"));
            case "warm_up" -> WarmUp.of(number(values, "permits"), micros(values, "period"), micros(values, "warm_up"));
            case "fixed_window" -> fixedWindow(values);
            case "sliding_log" -> SlidingWindowLog.of(number(values, "limit"), micros(values, "window"));
            case "sliding_counter" -> SlidingWindowCounter.of(number(values, "limit"), micros(values, "window"));
            case "concurrency" -> ConcurrencyLimit.of(number(values, "max"));
            default -> throw new IllegalArgumentException("no policy " + fields);
        };
    }

    private static FixedWindow fixedWindow(Map<String, String> values) {
        long limit = number(values, "limit");
        return switch (values.get("starts")) {
            case "epoch" -> FixedWindow.of(limit, micros(values, "window"));
            case "first_request" ->
                FixedWindow.of(limit, micros(values, "window")).fromFirstRequest();
            case "day" -> FixedWindow.daily(limit, ZoneId.of(values.get("zone")));
            case "month" -> FixedWindow.monthly(limit, ZoneId.of(values.get("zone")));
            default -> throw new IllegalArgumentException("no alignment " + values);
        };
    }

    private static long number(Map<String, String> values, String name) {
        return Long.parseLong(values.get(name));
    }

    private static Duration micros(Map<String, String> values, String name) {
        return Duration.of(number(values, name), ChronoUnit.MICROS);
    }

    /** One line, or for a composite one for each part. */
    static List<String> format(RateLimitPolicy policy) {
        if (policy instanceof CompositePolicy composite) {
            return composite.parts().stream().map(part -> "part," + line(part)).toList();
        }
        return List.of("policy," + line(policy));
    }

    private static String line(RateLimitPolicy policy) {
        if (policy instanceof TokenBucket bucket) {
            boolean stepwise = bucket.style() == TokenBucket.Refill.STEPWISE;
            return fields(
                    stepwise ? "stepwise_bucket" : "token_bucket",
                    "capacity=" + bucket.capacity(),
                    "refill=" + bucket.refill(),
                    "period=" + micros(bucket.period()),
                    stepwise ? "" : "initial=" + bucket.initialTokens());
        } else if (policy instanceof Gcra gcra) {
            return fields(
                    "gcra", "permits=" + gcra.permits(), "period=" + micros(gcra.period()), "burst=" + gcra.burst());
        } else if (policy instanceof LeakyBucket leaky) {
            return fields(
                    "leaky_bucket",
                    "permits=" + leaky.permits(),
                    "period=" + micros(leaky.period()),
                    "queue=" + leaky.queueCapacity());
        } else if (policy instanceof WarmUp warmUp) {
            return fields(
                    "warm_up",
                    "permits=" + warmUp.permits(),
                    "period=" + micros(warmUp.period()),
                    "warm_up=" + micros(warmUp.warmUp()));
        } else if (policy instanceof FixedWindow window) {
            return fixedWindow(window);
        } else if (policy instanceof SlidingWindowLog log) {
            return fields("sliding_log", "limit=" + log.limit(), "window=" + micros(log.window()));
        } else if (policy instanceof SlidingWindowCounter counter) {
            return fields("sliding_counter", "limit=" + counter.limit(), "window=" + micros(counter.window()));
        }
        return fields("concurrency", "max=" + ((ConcurrencyLimit) policy).max());
    }

    private static String fixedWindow(FixedWindow window) {
        if (window.alignment() instanceof Alignment.Calendar calendar) {
            String unit = calendar.unit() == Alignment.Unit.DAY ? "day" : "month";
            return fields("fixed_window", "limit=" + window.limit(), "starts=" + unit, "zone=" + calendar.zone());
        }
        String starts = window.alignment() instanceof Alignment.Epoch ? "epoch" : "first_request";
        return fields(
                "fixed_window", "limit=" + window.limit(), "window=" + micros(window.window()), "starts=" + starts);
    }

    private static String fields(String... fields) {
        return Arrays.stream(fields).filter(field -> !field.isEmpty()).collect(Collectors.joining(","));
    }

    private static long micros(Duration duration) {
        return Tick.MICROSECOND.ticks("duration", duration);
    }
}
