package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Asks that share calls, which the test answers. */
class AskPipeTest {

    private final List<Sinks.One<List<String>>> calls = new ArrayList<>();
    private final AskPipes<String, String> pipes = new AskPipes<>(new AskPipe.Outlet<>() {
        @Override
        public int maxAsks() {
            return 10;
        }

        @Override
        public Mono<List<String>> call(String key, List<String> asks) {
            Sinks.One<List<String>> answer = Sinks.one();
            calls.add(answer);
            return answer.asMono();
        }
    });

    private final Thread thread = Thread.currentThread();
    private final Thread.@Nullable UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
    private final AtomicReference<@Nullable Throwable> uncaught = new AtomicReference<>();

    @AfterEach
    void restoreHandler() {
        thread.setUncaughtExceptionHandler(before);
    }

    /** Breaks the rules. */
    private static final class Throwing implements CoreSubscriber<String> {

        private final Error thrown;

        Throwing(Error thrown) {
            this.thrown = thrown;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(1);
        }

        @Override
        public void onNext(String answer) {
            throw thrown;
        }

        @Override
        public void onError(Throwable error) {
            throw thrown;
        }

        @Override
        public void onComplete() {}
    }

    @Test
    void subscriberThatThrowsKeepsNobodyFromTheAnswerOfTheSameCall() {
        thread.setUncaughtExceptionHandler((where, thrown) -> uncaught.set(thrown));
        AssertionError thrown = new AssertionError("thrown by a subscriber");
        List<String> heard = new ArrayList<>();
        pipes.ask("k", "first").subscribe(heard::add);
        pipes.ask("k", "second").subscribe(new Throwing(thrown));
        pipes.ask("k", "third").subscribe(heard::add);

        calls.get(0).tryEmitValue(List.of("1")).orThrow();
        calls.get(1).tryEmitValue(List.of("2", "3")).orThrow();

        assertThat(heard).containsExactly("1", "3");
        assertThat(uncaught).hasValue(thrown);
    }

    @Test
    void subscriberThatThrowsOnAnErrorKeepsNobodyFromHearingOfIt() {
        thread.setUncaughtExceptionHandler((where, thrown) -> uncaught.set(thrown));
        List<Throwable> heard = new ArrayList<>();
        IllegalStateException error = new IllegalStateException("no answer");
        pipes.ask("k", "first").subscribe(new Throwing(new AssertionError("thrown by a subscriber")));
        pipes.ask("k", "second").subscribe(answer -> {}, heard::add);

        calls.get(0).tryEmitError(error).orThrow();
        calls.get(1).tryEmitError(error).orThrow();

        assertThat(heard).containsExactly(error);
        assertThat(uncaught.get()).hasMessage("thrown by a subscriber");
    }
}
