package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.FixedWindow.Alignment;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PolicyVisitor;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A policy as text for other processes: its kind, then its values, with spaces between; the parts of a
 * composite with {@code " + "} between. Other versions read it too, so a kind keeps its form.
 */
public final class PolicyText {

    private static final String BETWEEN_PARTS = " + ";
    private static final int QUOTED_AT_MOST = 100;

    private PolicyText() {}

    /** The text of a policy. */
    public static String format(RateLimitPolicy policy) {
        return policy.accept(new Formatter());
    }

    private static final class Formatter implements PolicyVisitor<String> {

        @Override
        public String visit(TokenBucket bucket) {
            return words(
                    "token-bucket",
                    bucket.capacity(),
                    bucket.refill(),
                    bucket.period(),
                    bucket.style(),
                    bucket.initialTokens());
        }

        @Override
        public String visit(Gcra gcra) {
            return words("gcra", gcra.permits(), gcra.period(), gcra.burst());
        }

        @Override
        public String visit(LeakyBucket bucket) {
            return words("leaky-bucket", bucket.permits(), bucket.period(), bucket.queueCapacity(), bucket.strict());
        }

        @Override
        public String visit(WarmUp warmUp) {
            return words("warm-up", warmUp.permits(), warmUp.period(), warmUp.warmUp());
        }

        @Override
        public String visit(FixedWindow window) {
            return words("fixed-window", window.limit(), window.window(), alignment(window.alignment()));
        }

        @Override
        public String visit(SlidingWindowLog log) {
            return words("sliding-window-log", log.limit(), log.window());
        }

        @Override
        public String visit(SlidingWindowCounter counter) {
            return words("sliding-window-counter", counter.limit(), counter.window());
        }

        @Override
        public String visit(ConcurrencyLimit limit) {
            return words("concurrency-limit", limit.max(), limit.lease());
        }

        @Override
        public String visit(CompositePolicy composite) {
            return composite.parts().stream().map(PolicyText::format).collect(Collectors.joining(BETWEEN_PARTS));
        }
    }

    private static String alignment(Alignment alignment) {
        if (alignment instanceof Alignment.Calendar calendar) {
            return words(calendar.unit(), calendar.zone().getId());
        }
        return alignment instanceof Alignment.Epoch ? "EPOCH" : "FIRST_REQUEST";
    }

    private static String words(Object... values) {
        return Stream.of(values).map(Object::toString).collect(Collectors.joining(" "));
    }

    /**
     * The policy of a text.
     *
     * @throws IllegalArgumentException if it is not what {@link #format} makes
     */
    public static RateLimitPolicy parse(String text) {
        try {
            List<RateLimitPolicy> parts = Stream.of(text.split(" \\+ ", -1))
                    .map(part -> part(List.of(part.split(" ", -1)).iterator()))
                    .toList();
            RateLimitPolicy policy = parts.size() == 1 ? parts.get(0) : new CompositePolicy(parts);
            if (format(policy).equals(text)) {
                return policy;
            }
        } catch (IllegalArgumentException | DateTimeException | NoSuchElementException refused) {
            throw corrupt(text, ": " + refused.getMessage());
        }
        throw corrupt(text, "");
    }

    private static IllegalArgumentException corrupt(String text, String why) {
        String quoted = text.length() > QUOTED_AT_MOST ? text.substring(0, QUOTED_AT_MOST) + "…" : text;
        return new IllegalArgumentException("'" + quoted + "' is a policy that this version does not know" + why);
    }

    private static RateLimitPolicy part(Iterator<String> words) {
        String kind = words.next();
        return switch (kind) {
            case "token-bucket" ->
                new TokenBucket(number(words), number(words), time(words), refill(words), number(words));
            case "gcra" -> new Gcra(number(words), time(words), number(words));
            case "leaky-bucket" ->
                new LeakyBucket(number(words), time(words), number(words), Boolean.parseBoolean(words.next()));
            case "warm-up" -> new WarmUp(number(words), time(words), time(words));
            case "fixed-window" -> new FixedWindow(number(words), time(words), alignment(words));
            case "sliding-window-log" -> new SlidingWindowLog(number(words), time(words));
            case "sliding-window-counter" -> new SlidingWindowCounter(number(words), time(words));
            case "concurrency-limit" -> new ConcurrencyLimit(number(words), time(words));
            default -> throw new IllegalArgumentException("unknown kind");
        };
    }

    private static Alignment alignment(Iterator<String> words) {
        String where = words.next();
        return switch (where) {
            case "EPOCH" -> new Alignment.Epoch();
            case "FIRST_REQUEST" -> new Alignment.FirstRequest();
            default -> new Alignment.Calendar(Alignment.Unit.valueOf(where), ZoneId.of(words.next()));
        };
    }

    private static TokenBucket.Refill refill(Iterator<String> words) {
        return TokenBucket.Refill.valueOf(words.next());
    }

    private static long number(Iterator<String> words) {
        return Long.parseLong(words.next());
    }

    private static Duration time(Iterator<String> words) {
        return Duration.parse(words.next());
    }
}
