package io.github.reactorratelimit.algorithm;

/**
 * What lies ahead of a key: where requests that stand in line will be granted. Starts from a state
 * and places one request after the other, each as early as the ones before it leave room. Not
 * thread-safe.
 */
public final class Projection {

    private final Runner<?> runner;

    private Projection(Runner<?> runner) {
        this.runner = runner;
    }

    /** The future of a key whose state is {@code state} at {@code now}. */
    public static <S> Projection of(Algorithm<S> algorithm, S state, long now) {
        return new Projection(new Runner<>(algorithm, state, now));
    }

    /**
     * Places a request behind those placed before.
     *
     * @param notBefore the earliest time it may be granted: its arrival, the end of a pause
     * @return the time at which it is granted, {@link Algorithm#UNKNOWN} if nobody can know; from then on
     *     all that follow are unknown too
     */
    public long place(long notBefore, long permits) {
        return runner.place(notBefore, permits);
    }

    /** The time at which a request would be granted behind those placed before, without placing it. */
    public long preview(long notBefore, long permits) {
        return runner.preview(notBefore, permits);
    }

    private static final class Runner<S> {

        private final Algorithm<S> algorithm;
        private S state;
        private long time;

        Runner(Algorithm<S> algorithm, S state, long now) {
            this.algorithm = algorithm;
            this.state = state;
            this.time = now;
        }

        long place(long notBefore, long permits) {
            time = preview(notBefore, permits);
            if (time != Algorithm.UNKNOWN) {
                state = algorithm.debit(state, time, permits);
            }
            return time;
        }

        long preview(long notBefore, long permits) {
            if (time == Algorithm.UNKNOWN) {
                return time;
            }
            long from = Math.max(time, notBefore);
            long wait = algorithm.waitTicks(state, from, permits);
            return wait > Algorithm.UNKNOWN - Math.max(from, 0) ? Algorithm.UNKNOWN : from + wait;
        }
    }
}
