package io.github.reactorratelimit.webflux;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CallerThread;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

/** Signals that come on the event loop, or elsewhere. */
class MonoStayTest {

    private final Loop loop = new Loop();
    private final List<Object> heard = new ArrayList<>();

    /** Whose tasks run when the test says so. */
    private static final class Loop implements CallerThread {

        private final Thread owner = Thread.currentThread();
        private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
        private volatile boolean refuses;

        @Override
        public boolean isCurrent() {
            return Thread.currentThread() == owner;
        }

        @Override
        public void execute(Runnable task) {
            if (refuses) {
                throw new RejectedExecutionException("closed");
            }
            tasks.add(task);
        }

        void run() {
            for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                task.run();
            }
        }
    }

    private Disposable subscribe(Mono<String> source) {
        return new MonoStay<>(source, () -> loop)
                .doOnDiscard(String.class, value -> heard.add("discarded " + value))
                .subscribe(heard::add, error -> heard.add(error.getClass()), () -> heard.add("complete"));
    }

    private static void elsewhere(Runnable signal) {
        CompletableFuture.runAsync(signal).join();
    }

    @Test
    void whatComesOnTheLoopIsToldAtOnce() {
        subscribe(Mono.just("value"));

        assertThat(heard).containsExactly("value", "complete");
    }

    @Test
    void whatComesElsewhereIsToldOnTheLoop() {
        Sinks.One<String> sink = Sinks.one();
        subscribe(sink.asMono());
        elsewhere(() -> sink.tryEmitValue("value"));
        assertThat(heard).isEmpty();

        loop.run();
        assertThat(heard).containsExactly("value", "complete");
    }

    @Test
    void errorAndEndElsewhereAreToldOnTheLoop() {
        Sinks.One<String> failing = Sinks.one();
        Sinks.One<String> empty = Sinks.one();
        subscribe(failing.asMono());
        subscribe(empty.asMono());
        elsewhere(() -> {
            failing.tryEmitError(new IllegalStateException("broken"));
            empty.tryEmitEmpty();
        });
        assertThat(heard).isEmpty();

        loop.run();
        assertThat(heard).containsExactly(IllegalStateException.class, "complete");
    }

    @Test
    void valueOfWhoLeavesBeforeTheLoopTellsItIsDiscarded() {
        Sinks.One<String> sink = Sinks.one();
        Disposable leaving = subscribe(sink.asMono());
        elsewhere(() -> sink.tryEmitValue("value"));

        leaving.dispose();
        loop.run();

        assertThat(heard).containsExactly("discarded value");
    }

    @Test
    void whoLeavesCancelsTheSource() {
        TestPublisher<String> source = TestPublisher.create();

        subscribe(source.mono()).dispose();

        source.assertCancelled();
    }

    @Test
    void loopThatIsClosedEndsInAnError() {
        Sinks.One<String> sink = Sinks.one();
        subscribe(sink.asMono());
        loop.refuses = true;
        elsewhere(() -> sink.tryEmitValue("value"));

        assertThat(heard).hasSize(2).first().isEqualTo("discarded value");
        assertThat((Class<?>) heard.get(1)).isAssignableTo(RejectedExecutionException.class);
    }

    @Test
    void whoIsNotOnALoopIsToldWhereTheSourceIs() {
        Sinks.One<String> sink = Sinks.one();
        new MonoStay<>(sink.asMono(), () -> null).subscribe(heard::add);
        elsewhere(() -> sink.tryEmitValue("value"));

        assertThat(heard).containsExactly("value");
    }

    @Test
    void asksForNothingBeforeItIsAsked() {
        TestPublisher<String> source = TestPublisher.create();

        StepVerifier.create(new MonoStay<>(source.mono(), () -> loop), 0)
                .then(source::assertWasNotRequested)
                .thenRequest(1)
                .then(() -> source.emit("value"))
                .expectNext("value")
                .verifyComplete();
    }
}
