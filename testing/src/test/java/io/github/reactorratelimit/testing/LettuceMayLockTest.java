package io.github.reactorratelimit.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.cluster.models.partitions.Partitions;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.DefaultEndpoint;
import io.lettuce.core.resource.ClientResources;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.blockhound.BlockingOperationError;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** BlockHound leaves Lettuce its locks, and finds out everybody else. */
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
    void twoThreadsMayWaitForEachOtherAtItsBoundedQueue() throws ReflectiveOperationException {
        ClientResources resources = ClientResources.create();
        DefaultEndpoint endpoint =
                new DefaultEndpoint(ClientOptions.builder().requestQueueSize(10).build(), resources);
        try {
            endpoint.write(ping());
            Field buffer = DefaultEndpoint.class.getDeclaredField("disconnectedBuffer");
            buffer.setAccessible(true);
            Queue<?> bounded = (Queue<?>) buffer.get(endpoint);
            assertThat(bounded).isInstanceOf(ArrayBlockingQueue.class).hasSize(1);
            Mono<Object> waits = secondWhileHeld(
                            () -> bounded.forEach(command -> awaitTheEnd()), () -> endpoint.write(ping()))
                    .cache();
            waits.subscribe(nothing -> {}, error -> {});
            Await.until("the second thread waits", () -> {
                Thread thread = second.get();
                return thread != null && thread.getState() == Thread.State.WAITING;
            });
            end.countDown();
            StepVerifier.create(waits).expectComplete().verify(TIMEOUT);
        } finally {
            end.countDown();
            resources.shutdown(0, 1, TimeUnit.SECONDS);
        }
    }

    private static Command<String, String, String> ping() {
        return new Command<>(CommandType.PING, new StatusOutput<>(StringCodec.UTF8));
    }

    /** The lock must stay usable: who is thrown out of its line leaves those behind it waiting for ever. */
    @Test
    @ExpectsDrops
    void whoeverElseWaitsForALockIsFoundOutAndGetsIt() {
        ReentrantLock lock = new ReentrantLock();
        Mono<Object> waits = secondWhileHeld(() -> holdUntilTheEnd(lock), () -> {
                    lock.lock();
                    lock.unlock();
                })
                .cache();
        waits.subscribe(nothing -> {}, error -> {});
        List<Object> seen = new ArrayList<>();
        Await.until("found out", () -> {
            seen.addAll(Drops.take());
            return !seen.isEmpty();
        });
        end.countDown();
        StepVerifier.create(waits).expectComplete().verify(TIMEOUT);
        assertThat(seen).hasOnlyElementsOfType(BlockingOperationError.class);
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
