package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Random traces of asks, waits, refunds and changes of policy on one key, against a bucket worked out on paper: the same
 * decisions, and everybody who waits leaves, or is denied, at the same nanosecond.
 */
class PolicyChangeModelTest {

    private static final int TRACES = Boolean.getBoolean("ratelimit.tests.full") ? 100_000 : 3_000;
    private static final int STEPS = 40;

    /** A bucket that gives one permit back each interval. */
    private record Bucket(long capacity, long intervalNanos) {

        static Bucket random(SplittableRandom random) {
            return new Bucket(1 + random.nextInt(8), (1 + random.nextInt(50)) * 1_000_000L + random.nextInt(3));
        }

        /** A key that is given the policy it has already would round up what it spent. */
        static Bucket otherThan(Bucket bucket, SplittableRandom random) {
            Bucket other = random(random);
            return other.equals(bucket) ? otherThan(bucket, random) : other;
        }

        /** Never equal to a policy of all keys. */
        Bucket asOverride() {
            return new Bucket(capacity, intervalNanos + 5);
        }

        RateLimitPolicy policy() {
            return TokenBucket.of(1, Duration.ofNanos(intervalNanos)).withBurst(capacity);
        }
    }

    private static final class Waiting {

        final String name;
        final long permits;
        final long notAfter;

        Waiting(String name, long permits, long notAfter) {
            this.name = name;
            this.permits = permits;
            this.notAfter = notAfter;
        }
    }

    /** On paper. */
    private static final class Paper {

        final List<String> events = new ArrayList<>();
        final List<Waiting> line = new ArrayList<>();

        /** What was done, for whoever has to find out why it went wrong. */
        final List<String> log = new ArrayList<>();

        Bucket bucket;
        Bucket shared;

        @Nullable
        Bucket own;

        long now;

        /** When nothing is owed any more. */
        long freeAt;

        Paper(Bucket bucket) {
            this.bucket = bucket;
            this.shared = bucket;
        }

        private long turn(long freeAt, long permits) {
            return Math.max(now, freeAt - (bucket.capacity - permits) * bucket.intervalNanos);
        }

        private long debited(long freeAt, long at, long permits) {
            return Math.max(freeAt, at) + permits * bucket.intervalNanos;
        }

        void advanceTo(long time) {
            while (!line.isEmpty() && turn(freeAt, line.get(0).permits) <= time) {
                Waiting head = line.remove(0);
                now = turn(freeAt, head.permits);
                freeAt = debited(freeAt, now, head.permits);
                events.add(head.name + " left at " + now);
            }
            now = time;
        }

        boolean take(long permits) {
            boolean allowed = line.isEmpty() && turn(freeAt, permits) == now;
            if (allowed) {
                freeAt = debited(freeAt, now, permits);
            }
            return allowed;
        }

        void giveBack(long permits) {
            freeAt -= permits * bucket.intervalNanos;
        }

        void await(Waiting waiting) {
            line.add(waiting);
            replan();
            advanceTo(now);
        }

        void change(Bucket to) {
            if (!to.equals(bucket)) {
                long owed = Math.max(0, freeAt - now);
                long spent = (owed + bucket.intervalNanos - 1) / bucket.intervalNanos;
                bucket = to;
                freeAt = now + Math.min(spent, to.capacity) * to.intervalNanos;
            }
            replan();
            advanceTo(now);
        }

        private void replan() {
            long planned = freeAt;
            for (Waiting waiting : List.copyOf(line)) {
                if (waiting.permits > bucket.capacity) {
                    line.remove(waiting);
                    events.add(waiting.name + " refused at " + now);
                } else if (turn(planned, waiting.permits) > waiting.notAfter) {
                    line.remove(waiting);
                    events.add(waiting.name + " denied at " + now);
                } else {
                    planned = debited(planned, turn(planned, waiting.permits), waiting.permits);
                }
            }
        }
    }

    private int changes;
    private int departures;

    @Test
    void everybodyLeavesWhenTheBucketOnPaperSays() {
        SplittableRandom random = new SplittableRandom(Seeds.next());
        for (int trace = 0; trace < TRACES; trace++) {
            run(random.split());
        }
        System.out.printf("%d traces, %d changes, %d departures%n", TRACES, changes, departures);
        assertThat(changes).isGreaterThan(TRACES);
        assertThat(departures).isGreaterThan(TRACES);
    }

    private void run(SplittableRandom random) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        Paper paper = new Paper(Bucket.random(random));
        List<String> events = new ArrayList<>();
        RateLimiter limiter = RateLimiter.builder(paper.bucket.policy())
                .scheduler(time)
                .policyPerKey(key -> Mono.justOrEmpty(paper.own).map(Bucket::policy), Duration.ofDays(1))
                .build();
        for (int step = 0; step < STEPS; step++) {
            step("w" + step, random, time, limiter, paper, events);
        }
        time.advanceTimeBy(Duration.ofSeconds(60));
        paper.advanceTo(time.now(TimeUnit.NANOSECONDS));
        assertThat(events).as(() -> String.join("; ", paper.log)).containsExactlyElementsOf(paper.events);
        departures += events.size();
        time.dispose();
    }

    /** For all keys, or for the one that is asked for by a policy per key. */
    private static void change(SplittableRandom random, RateLimiter limiter, Paper paper) {
        Bucket next = Bucket.otherThan(paper.bucket, random);
        switch (random.nextInt(3)) {
            case 0 -> {
                paper.own = next.asOverride();
                limiter.refreshPolicy("k").toFuture().join();
            }
            case 1 -> {
                paper.own = null;
                limiter.refreshPolicy("k").toFuture().join();
            }
            default -> {
                paper.shared = next;
                limiter.changePolicy(next.policy()).toFuture().join();
            }
        }
    }

    private void step(
            String name,
            SplittableRandom random,
            VirtualTimeScheduler time,
            RateLimiter limiter,
            Paper paper,
            List<String> events) {
        time.advanceTimeBy(Duration.ofNanos(random.nextLong(30_000_000)));
        long now = time.now(TimeUnit.NANOSECONDS);
        paper.advanceTo(now);
        long permits = 1 + random.nextLong(paper.bucket.capacity);
        switch (random.nextInt(6)) {
            case 0, 1 -> {
                Decision decision = limiter.tryAcquire("k", permits).toFuture().join();
                paper.log.add(now + " take " + permits + " " + decision.allowed());
                assertThat(decision.allowed())
                        .as(() -> String.join("; ", paper.log))
                        .isEqualTo(paper.take(permits));
                if (decision.allowed() && random.nextBoolean()) {
                    limiter.refund(decision).toFuture().join();
                    paper.giveBack(permits);
                    paper.log.add("refund");
                }
            }
            case 2 -> {
                changes++;
                change(random, limiter, paper);
                paper.log.add(now + " change to " + paper.own + ", all to " + paper.shared);
                time.advanceTime();
                paper.change(paper.own == null ? paper.shared : paper.own);
            }
            default -> {
                long maxWait = random.nextBoolean() ? 400_000_000 : random.nextLong(200_000_000);
                paper.log.add(now + " " + name + " awaits " + permits);
                limiter.acquire("k", permits, Duration.ofNanos(maxWait))
                        .subscribe(
                                decision -> events.add(name
                                        + (decision.allowed() ? " left at " : " denied at ")
                                        + time.now(TimeUnit.NANOSECONDS)),
                                error -> events.add(name + " refused at " + time.now(TimeUnit.NANOSECONDS)));
                time.advanceTime();
                paper.await(new Waiting(name, permits, now + maxWait));
            }
        }
    }
}
