package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import java.time.Duration;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.SplittableRandom;

/** Random policies of every kind that Redis holds, with rates of all sizes, also such that the last bits count. */
enum PolicyKind {
    GCRA {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return new Gcra(amount(random), period(random), amount(random));
        }
    },
    TOKEN_BUCKET {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            TokenBucket bucket = new TokenBucket(amount(random), amount(random), period(random));
            return random.nextBoolean() ? bucket : bucket.withInitialTokens(random.nextLong(bucket.capacity() + 1));
        }
    },
    TOKEN_BUCKET_STEPWISE {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return new TokenBucket(amount(random), amount(random), period(random)).stepwise();
        }
    },
    LEAKY_BUCKET {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return new LeakyBucket(amount(random), period(random), amount(random));
        }
    },
    FIXED_WINDOW_EPOCH {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return FixedWindow.of(amount(random), period(random));
        }
    },
    FIXED_WINDOW_FIRST_REQUEST {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return FixedWindow.of(amount(random), period(random)).fromFirstRequest();
        }
    },
    FIXED_WINDOW_CALENDAR {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            ZoneId zone = ZONES.get(random.nextInt(ZONES.size()));
            return random.nextInt(4) == 0
                    ? FixedWindow.monthly(amount(random), zone)
                    : FixedWindow.daily(amount(random), zone);
        }
    },
    SLIDING_WINDOW_COUNTER {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return SlidingWindowCounter.of(amount(random), period(random));
        }
    },
    SLIDING_WINDOW_LOG {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return SlidingWindowLog.of(Math.min(amount(random), SlidingWindowLog.MAX_LIMIT), period(random));
        }
    },
    WARM_UP {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            return new WarmUp(amount(random), period(random), period(random));
        }
    },
    LARGE_LOG {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            long limit = 1_000 + random.nextLong(SlidingWindowLog.MAX_LIMIT - 999);
            return SlidingWindowLog.of(limit, Duration.ofSeconds(1 + random.nextInt(100)));
        }
    },
    COMPOSITE {
        @Override
        RateLimitPolicy random(SplittableRandom random) {
            PolicyKind[] kinds = values();
            RateLimitPolicy first = kinds[random.nextInt(LARGE_LOG.ordinal())].random(random);
            RateLimitPolicy second = kinds[random.nextInt(LARGE_LOG.ordinal())].random(random);
            return random.nextBoolean()
                    ? Policies.all(first, second)
                    : Policies.all(first, second, kinds[random.nextInt(LARGE_LOG.ordinal())].random(random));
        }
    };

    private static final List<ZoneId> ZONES = List.of(
            ZoneId.of("UTC"),
            ZoneId.of("Europe/Berlin"),
            ZoneId.of("America/St_Johns"),
            ZoneId.of("Pacific/Apia"),
            ZoneId.of("America/Havana"));

    abstract RateLimitPolicy random(SplittableRandom random);

    /** One that Redis can hold. */
    RateLimitPolicy accepted(SplittableRandom random, long startMicros) {
        while (true) {
            try {
                RateLimitPolicy policy = random(random);
                ScriptPolicy.of(policy);
                return policy;
            } catch (IllegalArgumentException refused) {
                continue;
            }
        }
    }

    private static long amount(SplittableRandom random) {
        return switch (random.nextInt(10)) {
            case 0 -> 1 + random.nextInt(300);
            case 1 -> 1 + random.nextLong(1_000_000);
            case 2 -> 1 + random.nextLong(1L << (20 + random.nextInt(33)));
            default -> 1 + random.nextInt(9);
        };
    }

    private static Duration period(SplittableRandom random) {
        long micros = switch (random.nextInt(6)) {
            case 0 -> 1 + random.nextInt(40);
            case 1 -> 1 + random.nextInt(3_000);
            case 2 -> 1_000_000;
            case 3 -> 60_000_000;
            case 4 -> 1 + random.nextLong(Duration.ofDays(366).toSeconds() * 1_000_000);
            default -> 1 + random.nextLong(10_000_000_000L);
        };
        return Duration.of(micros, ChronoUnit.MICROS);
    }
}
