package io.github.reactorratelimit.hotkeys;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.stream.Stream;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Counts hashes for many threads. A thread begins with its own stripe and goes on to the next while another
 * thread owns it. If all are owned, the permits are only counted as missed.
 */
final class KeyCounter {

    private static final int MAX_STRIPES = 16;
    private static final int MIN_CELLS = 2_048;
    private static final int CELLS_PER_KEY = 16;

    private final Stripe[] stripes;
    private final LongAdder missed = new LongAdder();

    /** @param top how many keys a list has */
    KeyCounter(int top) {
        this(
                powerOfTwo(Math.max(MIN_CELLS, CELLS_PER_KEY * top)),
                powerOfTwo(Math.min(MAX_STRIPES, 2 * Runtime.getRuntime().availableProcessors())));
    }

    /** Both are powers of two. */
    KeyCounter(int cells, int count) {
        this.stripes = Stream.generate(() -> new Stripe(cells)).limit(count).toArray(Stripe[]::new);
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

    /** Computed on a parallel thread, not on the owner of a stripe. */
    Mono<List<HotKey>> top(int most) {
        return ofEach(Summary::copy).collectList().map(summaries -> Summary.heaviest(summaries, most, missed.sum()));
    }

    Mono<Void> clear() {
        return ofEach(Summary::clear).then(Mono.fromRunnable(missed::reset));
    }

    private <T> Flux<T> ofEach(Function<Summary, T> request) {
        return Flux.fromArray(stripes)
                .flatMap(stripe -> Mono.<T>create(
                                sink -> stripe.submit(summary -> sink.success(request.apply(summary))))
                        .publishOn(Schedulers.parallel()));
    }

    /** Permits that were not counted for any key. */
    long missed() {
        return missed.sum();
    }
}
