package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.redis.MonoOnce.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.util.RaceTestUtils;

class MonoOnceTest {

    private static final int RACES = Boolean.getBoolean("ratelimit.tests.full") ? 200_000 : 5_000;

    private static BaseSubscriber<Integer> counting(AtomicInteger delivered) {
        return new BaseSubscriber<>() {
            @Override
            protected void hookOnNext(Integer value) {
                delivered.incrementAndGet();
            }
        };
    }

    @Test
    void valueIsDeliveredOrUnusedAtWhateverMomentTheSubscriberLeaves() {
        AtomicInteger delivered = new AtomicInteger();
        AtomicInteger unused = new AtomicInteger();
        for (int i = 1; i <= RACES; i++) {
            AtomicReference<Reply<Integer>> reply = new AtomicReference<>();
            BaseSubscriber<Integer> subscriber = counting(delivered);
            new MonoOnce<Integer>(reply::set, value -> unused.incrementAndGet()).subscribe(subscriber);
            RaceTestUtils.race(() -> reply.get().succeed(1), subscriber::cancel);
            assertThat(delivered.get() + unused.get()).isEqualTo(i);
        }
        System.out.printf("races: %d delivered, %d unused%n", delivered.get(), unused.get());
    }

    @Test
    void onlyTheFirstAnswerCounts() {
        List<Integer> unused = new ArrayList<>();
        Mono<Integer> asked = new MonoOnce<>(
                reply -> {
                    reply.succeed(1);
                    reply.succeed(2);
                    reply.fail(new IllegalStateException("late"));
                },
                unused::add);
        StepVerifier.create(asked).expectNext(1).verifyComplete();
        assertThat(unused).containsExactly(2);
    }

    @Test
    void nothingIsAskedBeforeItIsRequested() {
        AtomicInteger asked = new AtomicInteger();
        Mono<Integer> mono = MonoOnce.asking(reply -> {
            asked.incrementAndGet();
            reply.succeed(1);
        });
        StepVerifier.create(mono, 0)
                .expectSubscription()
                .then(() -> assertThat(asked).hasValue(0))
                .thenRequest(1)
                .expectNext(1)
                .verifyComplete();
        assertThat(asked).hasValue(1);
    }

    @Test
    void questionThatThrowsIsAnError() {
        Mono<Integer> mono = MonoOnce.asking(reply -> {
            throw new IllegalStateException("no");
        });
        StepVerifier.create(mono).verifyErrorMessage("no");
    }

    @Test
    void sourceGoesOnWhenTheSubscriberLeaves() {
        TestPublisher<Integer> source = TestPublisher.create();
        List<Integer> unused = new ArrayList<>();
        MonoOnce.uncancelled(source.mono(), Schedulers.immediate(), unused::add)
                .subscribe()
                .dispose();
        source.assertNotCancelled();
        source.emit(7);
        assertThat(unused).containsExactly(7);
    }

    @Test
    void answersAlsoWhereCallbacksTakeNoMoreTasks() {
        Scheduler gone = Schedulers.newSingle("gone");
        gone.dispose();
        StepVerifier.create(MonoOnce.uncancelled(Mono.just(1), gone, late -> {}))
                .expectNext(1)
                .verifyComplete();
        StepVerifier.create(MonoOnce.uncancelled(Mono.error(new IllegalStateException("no")), gone, late -> {}))
                .verifyErrorMessage("no");
        StepVerifier.create(MonoOnce.uncancelled(Mono.empty(), gone, late -> {}))
                .verifyComplete();
    }

    @Test
    void lateReplyAndLateErrorAreIgnored() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        CompletableFuture<Integer> value = uncancellable();
        CompletableFuture<Integer> error = uncancellable();
        for (CompletableFuture<Integer> answer : List.of(value, error)) {
            Mono<Integer> within = new Deadlines(time, Duration.ofMillis(50)).within(MonoOnce.ofStage(() -> answer));
            StepVerifier.create(within)
                    .then(() -> time.advanceTimeBy(Duration.ofMillis(50)))
                    .verifyErrorMessage("no answer from Redis within PT0.05S");
        }
        value.complete(1);
        error.completeExceptionally(new IllegalStateException("late"));
    }

    private static CompletableFuture<Integer> uncancellable() {
        return new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean interrupt) {
                return false;
            }
        };
    }

    @Test
    void replyAndDeadlineAtTheSameTimeDropNothing() {
        for (int i = 0; i < RACES; i++) {
            VirtualTimeScheduler time = VirtualTimeScheduler.create();
            CompletableFuture<Integer> answer = uncancellable();
            AtomicInteger ended = new AtomicInteger();
            new Deadlines(time, Duration.ofMillis(50))
                    .within(MonoOnce.ofStage(() -> answer).map(value -> value + 1))
                    .subscribe(value -> ended.incrementAndGet(), late -> ended.incrementAndGet());
            RaceTestUtils.race(() -> answer.complete(1), () -> time.advanceTimeBy(Duration.ofMillis(50)));
            assertThat(ended).hasValue(1);
        }
    }

    @Test
    void answerAndDeadlineEachEndTheOther() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        CompletableFuture<Integer> given = new CompletableFuture<>();
        CompletableFuture<Integer> missed = new CompletableFuture<>();
        Deadlines deadlines = new Deadlines(time, Duration.ofMillis(2));
        deadlines.within(MonoOnce.ofStage(() -> given)).subscribe();
        given.complete(1);
        time.advanceTimeBy(Duration.ofMillis(1));
        deadlines.within(MonoOnce.ofStage(() -> missed)).onErrorComplete().subscribe();
        assertThat(time.getScheduledTaskCount())
                .as("one task watches all calls")
                .isEqualTo(1);
        time.advanceTimeBy(Duration.ofMillis(1));
        assertThat(missed).isNotDone();
        time.advanceTimeBy(Duration.ofMillis(1));
        assertThat(missed).isCancelled();
        assertThat(time.getScheduledTaskCount())
                .as("nothing is watched for ever")
                .isEqualTo(2);
    }
}
