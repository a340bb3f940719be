package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;

class AnteroomTest {

    private static final Runnable NOTHING = () -> {};

    private final Anteroom anteroom = new Anteroom();
    private final List<String> passed = new ArrayList<>();

    private void ask(String who) {
        Mono<Void> door = anteroom.isOpen() ? Mono.empty() : anteroom.enter(NOTHING);
        door.subscribe(nothing -> {}, refused -> passed.add(who + " refused"), () -> passed.add(who));
    }

    @Test
    void everybodyWaitsUntilItIsOpen() {
        ask("a");
        ask("b");
        assertThat(passed).isEmpty();
        anteroom.open();
        ask("c");
        assertThat(passed).containsExactly("a", "b", "c");
    }

    @Test
    void whoComesWhileOthersAreLetThroughComesAfterThem() {
        anteroom.enter(NOTHING).subscribe(nothing -> {}, refused -> {}, () -> {
            passed.add("a");
            ask("c");
        });
        ask("b");
        anteroom.open();
        assertThat(passed).containsExactly("a", "b", "c");
        assertThat(anteroom.isOpen()).isTrue();
    }

    @Test
    void whoIsRefusedMayComeAgain() {
        ask("a");
        anteroom.refuse(new IllegalStateException("away"));
        assertThat(anteroom.isOpen()).isFalse();
        ask("a");
        anteroom.open();
        assertThat(passed).containsExactly("a refused", "a");
    }

    @Test
    @ExpectsDrops
    void oneThatThrowsDoesNotKeepTheOthersOut() {
        anteroom.enter(NOTHING).subscribe(new BaseSubscriber<Void>() {
            @Override
            protected void hookOnComplete() {
                throw new AssertionError("broken");
            }
        });
        ask("b");
        anteroom.open();
        ask("c");
        assertThat(passed).containsExactly("b", "c");
        Drops.take();
    }

    @Test
    void whoLeavesIsForgotten() {
        anteroom.enter(NOTHING)
                .subscribe(nothing -> {}, refused -> {}, () -> passed.add("a"))
                .dispose();
        ask("b");
        anteroom.open();
        assertThat(passed).containsExactly("b");
    }

    /** Opened again and again, against one thread that asks all the time. */
    @Test
    void nobodyOvertakesWhoeverOpensIt() throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        for (int round = 0; round < 2_000 && failure.get() == null; round++) {
            Anteroom contested = new Anteroom();
            AtomicInteger next = new AtomicInteger();
            List<Thread> openers = IntStream.range(0, 2)
                    .mapToObj(i -> new Thread(contested::open))
                    .toList();
            openers.forEach(Thread::start);
            for (int i = 0; i < 64; i++) {
                int mine = i;
                Mono<Void> door = contested.isOpen() ? Mono.empty() : contested.enter(NOTHING);
                door.subscribe(nothing -> {}, failure::set, () -> {
                    if (next.getAndIncrement() != mine) {
                        failure.set(new AssertionError("ask " + mine + " came as " + (next.get() - 1)));
                    }
                });
            }
            for (Thread opener : openers) {
                opener.join();
            }
            assertThat(next).hasValue(64);
        }
        assertThat(failure).hasNullValue();
    }
}
