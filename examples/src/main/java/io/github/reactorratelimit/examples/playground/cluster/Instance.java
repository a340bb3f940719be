package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.playground.Counts;
import io.github.reactorratelimit.examples.playground.Drive;
import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * One instance of an application: what arrives at it, and a limiter on a connection of its own. Arrivals and commands run one after the
 * other, on the worker of its drive; decisions come on any thread.
 */
final class Instance {

    private static final String KEY = "orders";
    /** A limiter that was replaced is closed when nobody can be waiting for its answer any more. */
    private static final Duration LAST_ANSWERS = RedisStore.DEFAULT_DEADLINE.multipliedBy(20);

    private final int index;
    private final Scheduler scheduler;
    private final Drive drive;
    private final Counts counts = new Counts();
    private final AtomicLong arrived = new AtomicLong();
    private final AtomicLong allowed = new AtomicLong();
    private final AtomicLong denied = new AtomicLong();
    private final AtomicLong alone = new AtomicLong();
    private final Set<RateLimiter> open = ConcurrentHashMap.newKeySet();
    private volatile boolean isAlone;
    private Settings settings;
    private @Nullable RedisStore store;
    private @Nullable RateLimiter limiter;

    Instance(int index, Settings settings, Scheduler scheduler) {
        this.index = index;
        this.settings = settings;
        this.scheduler = scheduler;
        this.drive = new Drive(scheduler, RandomGenerator.getDefault(), this::arrive);
    }

    Drive drive() {
        return drive;
    }

    /** From now on there is a Redis, and traffic. */
    void connect(RedisStore connected) {
        drive.command(() -> {
            store = connected;
            replaceLimiter(connected);
            drive.send(settings.traffic().get(index));
        });
    }

    void change(Settings changed) {
        drive.command(() -> {
            boolean sameLimiter = changed.limitsLike(settings);
            settings = changed;
            if (store != null) {
                if (!sameLimiter) {
                    replaceLimiter(store);
                }
                drive.send(changed.traffic().get(index));
            }
        });
    }

    /** Of the same name as that of the other instance; of another policy, it has another, and so a state of its own. */
    private void replaceLimiter(RedisStore connected) {
        RateLimiter replaced = limiter;
        limiter = RateLimiter.builder(settings.policy())
                .name("orders-" + settings.policy().refill() + "-"
                        + settings.policy().capacity())
                .store(settings.applyTo(connected))
                .scheduler(scheduler)
                .recorder(counts)
                .build();
        open.add(limiter);
        if (replaced != null) {
            closeLater(replaced);
        }
    }

    private void closeLater(RateLimiter replaced) {
        Mono.delay(LAST_ANSWERS, scheduler).subscribe(later -> close(replaced));
    }

    private void arrive(int count) {
        RateLimiter asked = limiter;
        if (asked == null) {
            return;
        }
        for (int i = 0; i < count; i++) {
            arrived.incrementAndGet();
            asked.tryAcquire(KEY).subscribe(this::decided, failed -> denied.incrementAndGet());
        }
    }

    private void decided(Decision decision) {
        isAlone = decision.degraded();
        if (decision.degraded()) {
            alone.incrementAndGet();
        }
        (decision.allowed() ? allowed : denied).incrementAndGet();
    }

    Frame.Course course() {
        return new Frame.Course(arrived.get(), allowed.get(), denied.get(), alone.get(), isAlone);
    }

    Frame.Totals totals() {
        return new Frame.Totals(
                counts.allowed(),
                counts.denied(),
                Arrays.stream(Degradation.values()).collect(Collectors.toMap(Fields::textOf, counts::degradedBy)));
    }

    void close() {
        drive.dispose();
        open.forEach(this::close);
    }

    private void close(RateLimiter ended) {
        if (open.remove(ended)) {
            ended.dispose();
        }
    }
}
