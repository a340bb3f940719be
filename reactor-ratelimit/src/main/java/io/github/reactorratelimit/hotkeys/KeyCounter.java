package io.github.reactorratelimit.hotkeys;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Counts hashes for many threads: each thread has its own stripe as far as there are enough, and goes to the next one
 * while another is at it. If all are busy, what it wanted to count is missed, and only how much is counted.
 */
final class KeyCounter {

    private static final int MAX_STRIPES = 16;
    private static final int MIN_PLACES = 2_048;
    private static final int PLACES_PER_KEY = 16;

    private final Stripe[] stripes;
    private final LongAdder missed = new LongAdder();

    /** @param top how many keys will be asked for */
    KeyCounter(int top) {
        this(
                powerOfTwo(Math.max(MIN_PLACES, PLACES_PER_KEY * top)),
                powerOfTwo(Math.min(MAX_STRIPES, 2 * Runtime.getRuntime().availableProcessors())));
    }

    /** Both are powers of two. */
    KeyCounter(int places, int count) {
        this.stripes = Stream.generate(() -> new Stripe(places)).limit(count).toArray(Stripe[]::new);
    }

    private static int powerOfTwo(int atLeast) {
        return Integer.highestOneBit(2 * atLeast - 1);
    }

    void add(long hash, long weight) {
        int mine = (int) Thread.currentThread().getId();
        for (int i = 0; i < stripes.length; i++) {
            if (stripes[(mine + i) & (stripes.length - 1)].tryAdd(hash, weight)) {
                return;
            }
        }
        missed.add(weight);
    }

    /** Worked out on a thread of its own, not on the one that happened to own the last stripe. */
    Mono<List<HotKey>> top(int most) {
        return Flux.range(0, stripes.length)
                .flatMap(i -> Mono.<Summary>create(sink -> stripes[i].ask(summary -> sink.success(summary.copy())))
                        .publishOn(Schedulers.parallel()))
                .collectList()
                .map(summaries -> Summary.heaviest(summaries, most, missed.sum()));
    }

    Mono<Void> clear() {
        return Flux.range(0, stripes.length)
                .flatMap(i -> Mono.<Boolean>create(sink -> stripes[i].ask(summary -> {
                            summary.clear();
                            sink.success(true);
                        }))
                        .publishOn(Schedulers.parallel()))
                .then(Mono.fromRunnable(missed::reset));
    }

    /** Permits that were not counted for any key. */
    long missed() {
        return missed.sum();
    }
}
