package io.github.reactorratelimit.redis.server;

import io.lettuce.core.cluster.models.partitions.Partitions;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.blockhound.BlockingOperationError;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** BlockHound leaves Lettuce its locks, and nobody else. */
class LettuceMayLockTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch end = new CountDownLatch(1);
    private final AtomicReference<@Nullable Thread> second = new AtomicReference<>();

    @AfterEach
    void letTheFirstThreadGo() {
        end.countDown();
    }

    @Test
    void twoThreadsWithinLettuceMayWaitForEachOther() {
        Partitions partitions = new Partitions();
        Mono<Object> waits = secondWhileHeld(() -> partitions.addAll(new HeldNodes()), partitions::clear)
                .cache();
        waits.subscribe(nothing -> {}, error -> {});
        Await.until("the second thread waits", () -> {
            Thread thread = second.get();
            return thread != null && thread.getState() == Thread.State.WAITING;
        });
        end.countDown();
        StepVerifier.create(waits).expectComplete().verify(TIMEOUT);
    }

    @Test
    void nobodyElseMayWaitForALock() {
        ReentrantLock lock = new ReentrantLock();
        StepVerifier.create(secondWhileHeld(() -> holdUntilTheEnd(lock), lock::lock))
                .expectError(BlockingOperationError.class)
                .verify(TIMEOUT);
    }

    /** Runs the second task on a thread that must not block, when the first is in the midst of its own. */
    private Mono<Object> secondWhileHeld(Runnable first, Runnable next) {
        Schedulers.boundedElastic().schedule(first);
        return Mono.fromRunnable(() -> {
                    second.set(Thread.currentThread());
                    next.run();
                })
                .subscribeOn(Schedulers.parallel())
                .delaySubscription(Mono.fromCallable(() -> {
                            held.await();
                            return true;
                        })
                        .subscribeOn(Schedulers.boundedElastic()));
    }

    private void holdUntilTheEnd(ReentrantLock lock) {
        lock.lock();
        try {
            awaitTheEnd();
        } finally {
            lock.unlock();
        }
    }

    private void awaitTheEnd() {
        held.countDown();
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Lettuce copies them with its lock in hand. */
    private final class HeldNodes extends ArrayList<RedisClusterNode> {

        @Override
        public Object[] toArray() {
            awaitTheEnd();
            return super.toArray();
        }
    }
}
