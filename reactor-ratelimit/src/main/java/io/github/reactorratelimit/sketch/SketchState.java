package io.github.reactorratelimit.sketch;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Verdict;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.waiting.Pauses;
import io.github.reactorratelimit.waiting.WaitLines;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * The keys of one limiter in a sketch: cells for each policy, the pauses and the lines. Beside the cells memory is
 * taken only for keys that are paused or that somebody waits for.
 */
final class SketchState implements LimiterState {

    private final LimiterSettings settings;
    private final SketchStore store;
    private final Scheduler scheduler;
    private final long originNanos;
    private final Pauses pauses = new Pauses();
    private final WaitLines lines;
    private final RateLimitPolicy ownPolicy;
    private final SketchCells ownCells;
    private final Map<RateLimitPolicy, SketchCells> otherCells = new ConcurrentHashMap<>();

    SketchState(LimiterSettings settings, SketchStore store) {
        this.settings = settings;
        this.store = store;
        this.scheduler = settings.scheduler();
        this.originNanos = scheduler.now(TimeUnit.NANOSECONDS);
        this.ownPolicy = settings.policy();
        this.ownCells = store.cellsFor(ownPolicy);
        this.lines = new WaitLines(settings);
    }

    SketchCells cells(RateLimitPolicy policy) {
        return policy == ownPolicy ? ownCells : otherCells(policy);
    }

    private SketchCells otherCells(RateLimitPolicy policy) {
        if (policy.equals(ownPolicy)) {
            return ownCells;
        }
        SketchCells known = otherCells.get(policy);
        if (known != null) {
            return known;
        }
        if (otherCells.size() >= SketchStore.MAX_POLICIES - 1) {
            throw new IllegalStateException("limiter '" + settings.name() + "' has more than "
                    + SketchStore.MAX_POLICIES + " different policies; in a SketchStore each takes as much memory as"
                    + " all its keys");
        }
        return otherCells.computeIfAbsent(policy, store::cellsFor);
    }

    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        if (!lines.isQuiet() && (lines.isClosed() || lines.hasWaiters(key))) {
            return false;
        }
        long now = now();
        return now >= pauses.endOf(key) && cells(policy).take(key, now, permits, null);
    }

    @Override
    public Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
        if (lines.isClosed()) {
            return Verdict.UNKNOWN;
        }
        long now = now();
        if ((!lines.isQuiet() && lines.hasWaiters(key)) || now < pauses.endOf(key)) {
            return new SketchDesk(this, key, policy).denyInLine(now, permits);
        }
        return cells(policy).take(key, now, permits, null)
                ? Verdict.TAKEN
                : new SketchDesk(this, key, policy).denied(now, permits);
    }

    long now() {
        return scheduler.now(TimeUnit.NANOSECONDS) - originNanos;
    }

    long pausedUntil(String key) {
        return pauses.endOf(key);
    }

    boolean mustWait(String key, long now) {
        return pauses.isPaused(key, now) || lines.hasWaiters(key);
    }

    /** See {@link WaitLines#grantedAt}. */
    long grantedAt(String key, SketchDesk desk, long now, long permits) {
        return lines.grantedAt(key, desk, now, permits);
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return Mono.defer(() -> {
            SketchDesk desk = new SketchDesk(this, key, policy);
            return lines.atOnce(desk, () -> desk.evaluate(permits));
        });
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return Mono.defer(() -> lines.await(key, new SketchDesk(this, key, policy), permits, maxWaitNanos));
    }

    @Override
    public Mono<Decision> peek(String key, RateLimitPolicy policy, long permits) {
        return answering(() -> new SketchDesk(this, key, policy).peek(permits));
    }

    private <T> Mono<T> answering(Callable<T> answer) {
        return Mono.fromCallable(() -> {
            if (lines.isClosed()) {
                throw new RateLimiterClosedException(settings.name());
            }
            return answer.call();
        });
    }

    private Mono<Void> doing(Runnable action) {
        return answering(() -> {
                    action.run();
                    return true;
                })
                .then();
    }

    /** Ends the pause. What was spent stays: the cells are others' too. */
    @Override
    public Mono<Void> reset(String key, RateLimitPolicy policy) {
        return doing(() -> {
            pauses.end(key);
            lines.replan(key, new SketchDesk(this, key, policy));
        });
    }

    @Override
    public boolean owns(Debit debit) {
        return debit.owner() instanceof SketchCells.Mark mark && mark.state == this;
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return Mono.fromRunnable(() -> {
            if (giveBack(debit)) {
                settings.recorder().refunded(debit.permits());
            }
        });
    }

    boolean giveBack(Debit debit) {
        boolean back = giveBackQuietly(debit);
        if (back) {
            lines.permitsCameBack(debit.key());
        }
        return back;
    }

    /** Without a word to those who wait for the key. */
    boolean giveBackQuietly(Debit debit) {
        SketchCells.Mark mark = (SketchCells.Mark) debit.owner();
        boolean back = cells(debit.policy()).giveBack(mark, now(), debit.atTick(), debit.permits());
        if (!back) {
            settings.recorder().refundLost(debit.permits());
        }
        return back;
    }

    @Override
    public Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration) {
        return doing(() -> {
            long now = now();
            pauses.pause(key, now, saturatedAdd(now, duration));
            lines.replan(key, new SketchDesk(this, key, policy));
        });
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, RateLimitPolicy policy, Duration duration) {
        return doing(() -> {
            long now = now();
            pauses.pauseAtLeast(key, now, saturatedAdd(now, duration));
            lines.replan(key, new SketchDesk(this, key, policy));
        });
    }

    private static long saturatedAdd(long now, Duration duration) {
        Duration longest = Duration.ofNanos(Long.MAX_VALUE - Math.max(now, 0));
        return duration.compareTo(longest) >= 0 ? Long.MAX_VALUE : now + duration.toNanos();
    }

    @Override
    public Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return doing(() -> {
            long now = now();
            Reading spent = cells(from).read(key, now, 1);
            cells(to).charge(key, now, spent.limit() - spent.remaining());
            lines.replan(key, new SketchDesk(this, key, to));
        });
    }

    @Override
    public Mono<Void> close() {
        return lines.close();
    }

    @Override
    public boolean isClosed() {
        return lines.isClosed();
    }
}
