package io.github.reactorratelimit.local;

/**
 * Finds keys that are asked for so often that reading the clock for each debit is most of what they cost, even if
 * only one thread does. There is one candidate for each place of {@link HotKeys}: the key with most of the
 * samples there lately, told by its hash.
 *
 * <p>About one debit of {@link #DEBITS_PER_SAMPLE} is a sample, chosen by its time, which is at hand anyway. So
 * a debit costs a multiplication more, and threads on different keys hardly ever write to the same memory.
 * All of it is a guess: what several threads write at once may get lost, and keys with the same hash
 * count as one. A key may be opened at any time, so nothing depends on it but speed.
 */
final class BusyKeys {

    static final int DEBITS_PER_SAMPLE = 64;
    static final int SAMPLES_TO_OPEN = 8;
    static final long WITHIN_NANOS = 1_000_000;

    private static final long SPREAD = 0x9E3779B97F4A7C15L;
    private static final int SAMPLE_SHIFT = Long.SIZE - Integer.numberOfTrailingZeros(DEBITS_PER_SAMPLE);

    private final int[] hashes = new int[HotKeys.PLACES];
    private final int[] samples = new int[HotKeys.PLACES];
    private final long[] since = new long[HotKeys.PLACES];

    /** Spread first: a clock may count in steps that are larger than its unit. */
    static boolean isSample(long at) {
        return (at * SPREAD) >>> SAMPLE_SHIFT == 0;
    }

    /** Counts a sample; whether the key had enough of them lately, more than the others in its place. */
    boolean countSample(String key, long at) {
        int place = HotKeys.place(key);
        int hash = key.hashCode();
        boolean outdated = Math.abs(at - since[place]) > WITHIN_NANOS;
        if (outdated || samples[place] == 0) {
            since[place] = outdated ? at : since[place];
            hashes[place] = hash;
            samples[place] = 1;
            return false;
        }
        if (hashes[place] != hash) {
            samples[place]--;
            return false;
        }
        return ++samples[place] >= SAMPLES_TO_OPEN;
    }
}
