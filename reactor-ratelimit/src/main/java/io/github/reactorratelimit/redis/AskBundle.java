package io.github.reactorratelimit.redis;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Asks that have to be told, linked to each other: {@code untold} is the first of them, and whoever moves it on to the next may tell the one
 * before.
 *
 * <p>Two may find the same first ask, and one of them may read its link after the other has taken it and cut it off. But an ask stands in a bundle
 * once and {@code untold} never goes back, so that one fails to move it, whatever it read.
 */
abstract class AskBundle implements Deliveries.Bundle {

    private static final AtomicReferenceFieldUpdater<AskBundle, @Nullable TakeAsk> UNTOLD =
            AtomicReferenceFieldUpdater.newUpdater(AskBundle.class, TakeAsk.class, "untold");

    private volatile @Nullable TakeAsk untold;

    /** Once: those who are linked to each other, from the first on. */
    final void fill(TakeAsk first) {
        untold = first;
    }

    @Override
    public final @Nullable Runnable take() {
        for (TakeAsk ask = untold; ask != null; ask = untold) {
            if (UNTOLD.compareAndSet(this, ask, ask.next())) {
                // Whoever keeps its subscription must not keep all that travelled with it.
                ask.followBy(null);
                return ask;
            }
        }
        return null;
    }

    @Override
    public final @Nullable Runnable first() {
        return untold;
    }
}
