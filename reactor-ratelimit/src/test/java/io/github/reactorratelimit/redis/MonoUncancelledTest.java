package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.util.RaceTestUtils;

/** A value is delivered or goes back, at whatever moment the subscriber cancels. */
class MonoUncancelledTest {

    private static final int RACES = Boolean.getBoolean("ratelimit.tests.full") ? 200_000 : 5_000;

    @Test
    void valueIsDeliveredOrUnusedAtWhateverMomentTheSubscriberCancels() {
        AtomicInteger delivered = new AtomicInteger();
        AtomicInteger unused = new AtomicInteger();
        for (int i = 1; i <= RACES; i++) {
            Sinks.One<Integer> reply = Sinks.one();
            BaseSubscriber<Integer> subscriber = new BaseSubscriber<>() {
                @Override
                protected void hookOnNext(Integer value) {
                    delivered.incrementAndGet();
                }
            };
            new MonoUncancelled<>(reply.asMono(), Schedulers.immediate(), value -> unused.incrementAndGet())
                    .subscribe(subscriber);
            RaceTestUtils.race(() -> reply.tryEmitValue(1), subscriber::cancel);
            assertThat(delivered.get() + unused.get()).isEqualTo(i);
        }
    }

    @Test
    void nothingIsRequestedBeforeTheSubscriberDoes() {
        AtomicInteger asked = new AtomicInteger();
        Mono<Integer> source = Mono.fromSupplier(asked::incrementAndGet);
        StepVerifier.create(new MonoUncancelled<>(source, Schedulers.immediate(), late -> {}), 0)
                .expectSubscription()
                .then(() -> assertThat(asked).hasValue(0))
                .thenRequest(1)
                .expectNext(1)
                .verifyComplete();
    }

    @Test
    void sourceGoesOnWhenTheSubscriberCancels() {
        TestPublisher<Integer> source = TestPublisher.create();
        List<Integer> unused = new ArrayList<>();
        new MonoUncancelled<>(source.mono(), Schedulers.immediate(), unused::add)
                .subscribe()
                .dispose();
        source.assertNotCancelled();
        source.emit(7);
        assertThat(unused).containsExactly(7);
    }

    @Test
    void answersAlsoIfTheSchedulerForCallbacksTakesNoMoreTasks() {
        Scheduler gone = Schedulers.newSingle("gone");
        gone.dispose();
        StepVerifier.create(new MonoUncancelled<>(Mono.just(1), gone, late -> {}))
                .expectNext(1)
                .verifyComplete();
        StepVerifier.create(new MonoUncancelled<>(Mono.error(new IllegalStateException("no")), gone, late -> {}))
                .verifyErrorMessage("no");
        StepVerifier.create(new MonoUncancelled<>(Mono.empty(), gone, late -> {}))
                .verifyComplete();
    }
}
