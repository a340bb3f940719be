package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Random bursts of arrivals and cancels in virtual time against a queue that is worked out on paper:
 * whoever is still there leaves at its arrival or when the one before it has cleared its intervals,
 * whichever is later.
 */
class LeakyBucketModelTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 20_000 : 1_000;
    private static final long NEVER = Long.MAX_VALUE;

    /** Arrivals happen at even times and cancels at odd ones, so that none coincides with a departure at an even slot. */
    private record Visit(int id, long arrival, long cancel, long permits) {}

    @Test
    void departuresAreFifoAtTheirSlotsWhoeverCancels() {
        long seed = Seeds.of("LeakyBucketModelTest");
        SplittableRandom random = new SplittableRandom(seed);
        int departed = 0;
        int cancelled = 0;
        for (int round = 0; round < ROUNDS; round++) {
            long interval = 2 * random.nextLong(1, 50);
            List<Visit> visits = visits(random, interval);
            List<Long> expected = onPaper(visits, interval);
            List<Long> actual = inTheLimiter(visits, interval);
            assertThat(actual)
                    .as("seed %d round %d interval %d %s", seed, round, interval, visits)
                    .isEqualTo(expected);
            departed += (int) expected.stream().filter(at -> at != NEVER).count();
            cancelled += (int) expected.stream().filter(at -> at == NEVER).count();
        }
        System.out.printf("%d departures, %d cancels that came in time%n", departed, cancelled);
        assertThat(cancelled).isGreaterThan(departed / 10);
    }

    private static List<Visit> visits(SplittableRandom random, long interval) {
        List<Visit> visits = new ArrayList<>();
        long time = 0;
        int count = random.nextInt(5, 60);
        for (int id = 0; id < count; id++) {
            boolean newBurst = random.nextInt(8) == 0;
            time += newBurst ? 2 * random.nextLong(0, 10 * interval) : 0;
            long permits = random.nextInt(4) == 0 ? random.nextLong(1, 5) : 1;
            long cancel = random.nextInt(3) == 0 ? time + 1 + 2 * random.nextLong(0, 8 * interval) : NEVER;
            visits.add(new Visit(id, time, cancel, permits));
        }
        return visits;
    }

    private static List<Long> onPaper(List<Visit> visits, long interval) {
        List<Long> departures = new ArrayList<>();
        long clearAt = 0;
        for (Visit visit : visits) {
            long slot = Math.max(visit.arrival(), clearAt);
            boolean leaves = slot < visit.cancel();
            departures.add(leaves ? slot : NEVER);
            if (leaves) {
                clearAt = slot + visit.permits() * interval;
            }
        }
        return departures;
    }

    private record Event(long at, Runnable action) {}

    private static List<Long> inTheLimiter(List<Visit> visits, long interval) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(LeakyBucket.of(1, Duration.ofNanos(interval)))
                .scheduler(time)
                .build();
        Long[] departures = new Long[visits.size()];
        Disposable[] waits = new Disposable[visits.size()];
        List<Event> events = new ArrayList<>();
        for (Visit visit : visits) {
            departures[visit.id()] = NEVER;
            events.add(new Event(
                    visit.arrival(),
                    () -> waits[visit.id()] = limiter.acquire("k", visit.permits())
                            .filter(Decision::allowed)
                            .subscribe(decision -> departures[visit.id()] = time.now(TimeUnit.NANOSECONDS))));
            if (visit.cancel() != NEVER) {
                events.add(new Event(visit.cancel(), () -> waits[visit.id()].dispose()));
            }
        }
        events.stream().sorted(Comparator.comparingLong(Event::at)).forEach(event -> {
            time.advanceTimeBy(Duration.ofNanos(event.at() - time.now(TimeUnit.NANOSECONDS)));
            event.action().run();
        });
        time.advanceTimeBy(Duration.ofNanos(1_000 * interval * 5));
        return List.of(departures);
    }
}
