package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Buckets worked out on paper that ruled one key one after the other, and what was granted under each by the server's clock.
 * Whatever is not known to the microsecond is taken as the most lenient it may have been: when exactly a change reached the key, or
 * a refund. So a grant that does not fit was too much, however slow the machine is.
 *
 * <p>Slots that were promised under a bucket count under that one, also if they are used after it was replaced by a process that has
 * not heard of that yet. One thread at a time.
 */
final class PaperReigns {

    /** A bucket that gives one permit back each interval. */
    record Bucket(long capacity, long intervalMicros, boolean gcra) {

        RateLimitPolicy policy() {
            Duration interval = Duration.ofNanos(intervalMicros * 1_000);
            return gcra
                    ? new Gcra(1, interval, capacity)
                    : TokenBucket.of(1, interval).withBurst(capacity);
        }
    }

    /** What was granted as of a time, and what of it was given back not before another. */
    static final class Grant {

        private final long atMicros;
        private final long permits;
        private final boolean wasPromised;
        private long backMicros = Long.MAX_VALUE;
        private long back;

        private Grant(long atMicros, long permits, boolean wasPromised) {
            this.atMicros = atMicros;
            this.permits = permits;
            this.wasPromised = wasPromised;
        }

        /** Gives permits back, once. */
        void giveBack(long permits, long notBeforeMicros) {
            back = permits;
            backMicros = notBeforeMicros;
        }

        @Override
        public String toString() {
            return permits
                    + (wasPromised ? " promised for " : " at ")
                    + atMicros
                    + (back > 0 ? ", " + back + " back at " + backMicros : "");
        }

        private long countsAt(long micros) {
            return micros >= backMicros ? permits - back : permits;
        }
    }

    /** What was charged without asking, at some time between two. */
    private record Charge(long notBeforeMicros, long notAfterMicros, long permits) {}

    /** What happened: so many permits as of then. */
    private record Entry(long atMicros, long permits) {}

    private static final class Reign {

        final Bucket bucket;
        final RateLimitPolicy policy;
        final long sinceMicros;
        final List<Grant> grants = new ArrayList<>();
        final List<Charge> charges = new ArrayList<>();
        long untilMicros = Long.MAX_VALUE;

        Reign(Bucket bucket, long sinceMicros) {
            this.bucket = bucket;
            this.policy = bucket.policy();
            this.sinceMicros = sinceMicros;
        }

        /** When nothing is owed any more, of what happened until a time. */
        long freeAt(long micros, long carried, List<Grant> granted, List<Charge> charged) {
            List<Entry> entries = new ArrayList<>();
            granted.forEach(grant -> entries.add(new Entry(grant.atMicros, grant.countsAt(micros))));
            charged.stream()
                    .filter(charge -> charge.notAfterMicros <= micros)
                    .forEach(charge -> entries.add(new Entry(charge.notBeforeMicros, charge.permits)));
            entries.sort(Comparator.comparingLong(Entry::atMicros));
            long freeAt = carried == 0 ? Long.MIN_VALUE / 4 : sinceMicros + carried * bucket.intervalMicros;
            for (Entry entry : entries) {
                if (entry.atMicros <= micros) {
                    freeAt = Math.max(freeAt, entry.atMicros) + entry.permits * bucket.intervalMicros;
                }
            }
            return freeAt;
        }

        long spent(long micros, long carried) {
            long owed = Math.max(0, freeAt(micros, carried, grants, charges) - micros);
            return Math.min(bucket.capacity, -Math.floorDiv(-owed, bucket.intervalMicros));
        }

        void check(long carried) {
            grants.sort(Comparator.comparingLong(grant -> grant.atMicros));
            for (int i = 0; i < grants.size(); i++) {
                Grant grant = grants.get(i);
                long at = grant.atMicros;
                // A debt delays nobody whose time was promised.
                List<Charge> counted = grant.wasPromised ? List.of() : charges;
                long owed = freeAt(at, carried, grants.subList(0, i + 1), counted) - at;
                assertThat(owed)
                        .as(
                                "%s, after %d were carried over to %s at %d; %s %s",
                                grant, carried, bucket, sinceMicros, grants, charges)
                        .isLessThanOrEqualTo(bucket.capacity * bucket.intervalMicros);
            }
        }
    }

    private final List<Reign> reigns = new ArrayList<>();
    private int grants;
    private int carriedOver;

    PaperReigns(Bucket first) {
        reigns.add(new Reign(first, Long.MIN_VALUE));
    }

    private Reign last() {
        return reigns.get(reigns.size() - 1);
    }

    Bucket bucket() {
        return last().bucket;
    }

    RateLimitPolicy policy() {
        return last().policy;
    }

    boolean hasRuled(Bucket bucket) {
        return reigns.stream().anyMatch(reign -> reign.bucket.equals(bucket));
    }

    /** How many buckets ruled so far. */
    int count() {
        return reigns.size();
    }

    /** The least capacity since so many had ruled. */
    long leastCapacitySince(int count) {
        return reigns.stream()
                .skip(count - 1)
                .mapToLong(reign -> reign.bucket.capacity)
                .min()
                .orElseThrow();
    }

    /** Another bucket, which the key got to know at some time between two. */
    void change(Bucket to, long notBeforeMicros, long notAfterMicros) {
        last().untilMicros = notAfterMicros;
        reigns.add(new Reign(to, notBeforeMicros));
    }

    /**
     * Granted by a decision, under whichever bucket that says.
     *
     * @param wasPromised to somebody who waited for it
     */
    Grant grant(Decision decision, boolean wasPromised) {
        Grant grant = new Grant(decision.debit().orElseThrow().atTick(), decision.permits(), wasPromised);
        reign(decision).grants.add(grant);
        grants++;
        return grant;
    }

    /** Under how many buckets before it the key had been when this was granted. */
    int reignOf(Decision decision) {
        return reigns.indexOf(reign(decision));
    }

    private Reign reign(Decision decision) {
        RateLimitPolicy policy = decision.debit().orElseThrow().policy();
        return reigns.stream()
                .filter(reign -> reign.policy.equals(policy))
                .findFirst()
                .orElseThrow(() -> new AssertionError("nobody let this rule: " + policy));
    }

    void charge(long permits, long notBeforeMicros, long notAfterMicros) {
        last().charges.add(new Charge(notBeforeMicros, notAfterMicros, permits));
    }

    /** No grant was more than the bucket had left of what was spent under those before it. */
    void check() {
        long carried = 0;
        for (Reign reign : reigns) {
            carried = Math.min(carried, reign.bucket.capacity);
            carriedOver += carried > 0 ? 1 : 0;
            reign.check(carried);
            carried = reign.untilMicros == Long.MAX_VALUE ? 0 : reign.spent(reign.untilMicros, carried);
        }
    }

    int grants() {
        return grants;
    }

    /** Changes after which something was still spent. */
    int carriedOver() {
        return carriedOver;
    }
}
