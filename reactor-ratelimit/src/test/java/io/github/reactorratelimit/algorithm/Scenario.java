package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * A policy at a clock, its model, and how time should move for its boundaries to be met.
 *
 * @param stepTicks about the time in which one permit comes back
 * @param recoverTicks about the time in which all come back
 */
record Scenario(
        RateLimitPolicy policy,
        Clock clock,
        Supplier<ReferenceModel> model,
        long stepTicks,
        long recoverTicks,
        long startTick) {

    private static final List<ZoneId> ZONES = List.of(
            ZoneId.of("UTC"),
            ZoneId.of("Europe/Berlin"),
            ZoneId.of("America/St_Johns"),
            ZoneId.of("America/Sao_Paulo"),
            ZoneId.of("America/Havana"));

    enum Kind {
        TOKEN_BUCKET {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                long capacity = amount(random);
                long initial = random.nextInt(4) == 0 ? random.nextLong(capacity + 1) : capacity;
                return new TokenBucket(
                        capacity, amount(random), period(random, tick), TokenBucket.Refill.CONTINUOUS, initial);
            }
        },
        TOKEN_BUCKET_STEPWISE {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return new TokenBucket(amount(random), amount(random), period(random, tick)).stepwise();
            }
        },
        GCRA {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return new Gcra(amount(random), period(random, tick), amount(random));
            }
        },
        LEAKY_BUCKET {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return new LeakyBucket(amount(random), period(random, tick), amount(random));
            }
        },
        /** Some hundred ticks: the model counts them one by one. */
        WARM_UP {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return WarmUp.of(
                        amount(random),
                        Duration.ofNanos(tick.toNanos(1 + random.nextInt(40))),
                        Duration.ofNanos(tick.toNanos(1 + random.nextInt(120))));
            }
        },
        FIXED_WINDOW_EPOCH {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return FixedWindow.of(amount(random), period(random, tick));
            }
        },
        FIXED_WINDOW_FIRST_REQUEST {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return FixedWindow.of(amount(random), period(random, tick)).fromFirstRequest();
            }
        },
        FIXED_WINDOW_CALENDAR {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                ZoneId zone = ZONES.get(random.nextInt(ZONES.size()));
                return random.nextInt(4) == 0
                        ? FixedWindow.monthly(amount(random), zone)
                        : FixedWindow.daily(amount(random), zone);
            }
        },
        SLIDING_WINDOW_LOG {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return SlidingWindowLog.of(amount(random), period(random, tick));
            }
        },
        SLIDING_WINDOW_COUNTER {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return SlidingWindowCounter.of(amount(random), period(random, tick));
            }
        },
        CONCURRENCY_LIMIT {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                return ConcurrencyLimit.of(amount(random));
            }
        },
        COMPOSITE {
            @Override
            RateLimitPolicy policy(SplittableRandom random, Tick tick) {
                Kind[] kinds = {TOKEN_BUCKET, GCRA, FIXED_WINDOW_EPOCH, SLIDING_WINDOW_LOG, SLIDING_WINDOW_COUNTER};
                RateLimitPolicy first = kinds[random.nextInt(kinds.length)].policy(random, tick);
                RateLimitPolicy second = kinds[random.nextInt(kinds.length)].policy(random, tick);
                return random.nextBoolean()
                        ? Policies.all(first, second)
                        : Policies.all(first, second, LEAKY_BUCKET.policy(random, tick));
            }
        };

        abstract RateLimitPolicy policy(SplittableRandom random, Tick tick);

        Scenario scenario(SplittableRandom random) {
            while (true) {
                Tick tick = random.nextBoolean() ? Tick.NANOSECOND : Tick.MICROSECOND;
                try {
                    RateLimitPolicy policy = policy(random, tick);
                    Scenario scenario = Scenario.of(policy, clock(random, tick, policy), random);
                    Algorithms.of(policy, scenario.clock);
                    return scenario;
                } catch (IllegalArgumentException refused) {
                    continue;
                }
            }
        }
    }

    private static long amount(SplittableRandom random) {
        return random.nextInt(10) == 0 ? 1 + random.nextInt(300) : 1 + random.nextInt(9);
    }

    private static Duration period(SplittableRandom random, Tick tick) {
        long ticks = switch (random.nextInt(5)) {
            case 0 -> 1 + random.nextInt(40);
            case 1 -> 1 + random.nextInt(3_000);
            case 2 -> 1_000_000;
            case 3 -> 60_000_000;
            default -> 1 + random.nextLong(10_000_000_000L);
        };
        return Duration.ofNanos(tick.toNanos(ticks));
    }

    private static Clock clock(SplittableRandom random, Tick tick, RateLimitPolicy policy) {
        long epoch = tick == Tick.NANOSECOND ? 1_758_000_000_123_456_789L : 1_758_000_000_123_456L;
        boolean dated =
                policy instanceof FixedWindow window && window.alignment() instanceof FixedWindow.Alignment.Calendar;
        if (dated) {
            long second = Instant.parse("2006-01-01T00:00:00Z").getEpochSecond() + random.nextLong(2 * 365 * 86_400);
            epoch = tick.ticks("epoch", Duration.ofSeconds(second)) + random.nextInt(1_000_000);
        }
        return switch (random.nextInt(3)) {
            case 0 -> new Clock(tick, epoch, 0);
            case 1 -> new Clock(tick, 0, epoch);
            default -> new Clock(tick, epoch + 12_345_678, -12_345_678);
        };
    }

    private static Scenario of(RateLimitPolicy policy, Clock clock, SplittableRandom random) {
        long start = clock.start();
        long recover = recoverTicks(policy, clock);
        long step = Math.max(1, recover / Math.max(1, policy.capacity()));
        return new Scenario(
                policy, clock, () -> model(policy, clock), step, recover, start + random.nextLong(2 * step));
    }

    private static long recoverTicks(RateLimitPolicy policy, Clock clock) {
        if (policy instanceof TokenBucket bucket) {
            return fill(bucket.capacity(), bucket.refill(), clock.tick().ticks("period", bucket.period()));
        } else if (policy instanceof Gcra gcra) {
            return fill(gcra.burst(), gcra.permits(), clock.tick().ticks("period", gcra.period()));
        } else if (policy instanceof LeakyBucket leaky) {
            return fill(2, leaky.permits(), clock.tick().ticks("period", leaky.period()));
        } else if (policy instanceof WarmUp warmUp) {
            return fill(2, warmUp.permits(), clock.tick().ticks("period", warmUp.period()))
                    + clock.tick().ticks("warmUp", warmUp.warmUp());
        } else if (policy instanceof FixedWindow window) {
            return clock.tick().ticks("window", window.window());
        } else if (policy instanceof SlidingWindowLog log) {
            return clock.tick().ticks("window", log.window());
        } else if (policy instanceof SlidingWindowCounter counter) {
            return clock.tick().ticks("window", counter.window());
        } else if (policy instanceof CompositePolicy composite) {
            return composite.parts().stream()
                    .mapToLong(part -> recoverTicks(part, clock))
                    .min()
                    .orElseThrow();
        }
        return 1_000;
    }

    private static long fill(long capacity, long permits, long period) {
        return Math.max(1, capacity * period / permits);
    }

    static ReferenceModel model(RateLimitPolicy policy, Clock clock) {
        Tick tick = clock.tick();
        if (policy instanceof TokenBucket bucket) {
            long period = tick.ticks("period", bucket.period());
            return bucket.style() == TokenBucket.Refill.STEPWISE
                    ? new StepwiseModel(bucket.capacity(), bucket.refill(), period)
                    : new TokenBucketModel(
                            bucket.capacity(), bucket.refill(), period, bucket.initialTokens(), clock.start());
        } else if (policy instanceof Gcra gcra) {
            long period = tick.ticks("period", gcra.period());
            return new GcraModel(gcra.permits(), period, gcra.burst(), false, clock.start());
        } else if (policy instanceof LeakyBucket leaky) {
            long period = tick.ticks("period", leaky.period());
            return new GcraModel(leaky.permits(), period, leaky.queueCapacity(), true, clock.start());
        } else if (policy instanceof WarmUp warmUp) {
            return new WarmUpModel(
                    warmUp.permits(),
                    tick.ticks("period", warmUp.period()),
                    tick.ticks("warmUp", warmUp.warmUp()),
                    clock.start());
        } else if (policy instanceof FixedWindow window) {
            return windowModel(window, clock);
        } else if (policy instanceof SlidingWindowLog log) {
            return new SlidingLogModel(log.limit(), tick.ticks("window", log.window()));
        } else if (policy instanceof SlidingWindowCounter counter) {
            return new SlidingCounterModel(
                    counter.limit(), tick.ticks("window", counter.window()), clock.epochOffset());
        } else if (policy instanceof ConcurrencyLimit concurrency) {
            return new ConcurrencyModel(concurrency.max());
        }
        return new CompositeModel(((CompositePolicy) policy)
                .parts().stream().map(part -> model(part, clock)).toList());
    }

    private static ReferenceModel windowModel(FixedWindow policy, Clock clock) {
        long length = clock.tick().ticks("window", policy.window());
        if (policy.alignment() instanceof FixedWindow.Alignment.Calendar calendar) {
            boolean daily = calendar.unit() == FixedWindow.Alignment.Unit.DAY;
            long shortest = daily ? length * 23 / 24 : length * 27 / 31;
            long perSecond = clock.tick().ticks("second", Duration.ofSeconds(1));
            return new FixedWindowModel(
                    policy.limit(),
                    CalendarModel.windows(daily, calendar.zone(), perSecond, clock.epochOffset()),
                    shortest);
        }
        return policy.alignment() instanceof FixedWindow.Alignment.Epoch
                ? new FixedWindowModel(policy.limit(), FixedWindowModel.epoch(length, clock.epochOffset()), length)
                : new FirstRequestModel(policy.limit(), length);
    }
}
