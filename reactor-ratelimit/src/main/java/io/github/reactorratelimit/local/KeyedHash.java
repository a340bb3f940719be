package io.github.reactorratelimit.local;

import java.security.SecureRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Schedulers;

/**
 * Internal: SipHash-2-4 over the UTF-16 code units of a key, under a secret seed. A client that does not know the seed cannot
 * choose keys that share a cell with a victim. {@link String#hashCode} is no protection: every client can compute it.
 */
public final class KeyedHash {

    private static final AtomicLong HASHES = new AtomicLong();

    /** Set once; until then hashes are seeded weakly. */
    private static volatile @Nullable Seed processSecret;

    static {
        // Reading entropy is a blocking call, and a limiter may be built on a thread that must not block.
        if (Schedulers.isInNonBlockingThread()) {
            Thread reader = new Thread(KeyedHash::readSecret, "ratelimit-secret");
            reader.setDaemon(true);
            reader.start();
        } else {
            readSecret();
        }
    }

    private record Seed(long first, long second) {}

    private final AtomicReference<@Nullable Seed> seed = new AtomicReference<>();

    /** A hash with its own seed. It is derived from a secret of this process at the first use: by then the secret was read. */
    public KeyedHash() {}

    /** A hash with a known seed: the same in every process. */
    public KeyedHash(long seed0, long seed1) {
        seed.set(new Seed(seed0, seed1));
    }

    private static void readSecret() {
        SecureRandom random = new SecureRandom();
        processSecret = new Seed(random.nextLong(), random.nextLong());
    }

    /** The hash of a key; never blocks. */
    public long of(String key) {
        Seed known = seed.get();
        return hash(known == null ? derived() : known, key);
    }

    private Seed derived() {
        Seed secret = processSecret;
        Seed source = secret == null ? weak() : secret;
        long number = HASHES.incrementAndGet();
        Seed created = new Seed(hash(source, "0" + number), hash(source, "1" + number));
        Seed other = seed.compareAndExchange(null, created);
        return other == null ? created : other;
    }

    /** Made of numbers that can be guessed from enough of them. */
    private static Seed weak() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return new Seed(random.nextLong(), random.nextLong());
    }

    private static long hash(Seed seed, String key) {
        Sip sip = new Sip(seed.first, seed.second);
        int whole = key.length() & ~3;
        for (int i = 0; i < whole; i += 4) {
            sip.word(key.charAt(i)
                    | (long) key.charAt(i + 1) << 16
                    | (long) key.charAt(i + 2) << 32
                    | (long) key.charAt(i + 3) << 48);
        }
        long last = ((long) key.length() * 2) << 56;
        for (int i = whole; i < key.length(); i++) {
            last |= (long) key.charAt(i) << (16 * (i - whole));
        }
        sip.word(last);
        return sip.finish();
    }

    private static final class Sip {

        private long v0;
        private long v1;
        private long v2;
        private long v3;

        Sip(long seed0, long seed1) {
            v0 = seed0 ^ 0x736f6d6570736575L;
            v1 = seed1 ^ 0x646f72616e646f6dL;
            v2 = seed0 ^ 0x6c7967656e657261L;
            v3 = seed1 ^ 0x7465646279746573L;
        }

        void word(long word) {
            v3 ^= word;
            rounds(2);
            v0 ^= word;
        }

        long finish() {
            v2 ^= 0xff;
            rounds(4);
            return v0 ^ v1 ^ v2 ^ v3;
        }

        private void rounds(int count) {
            for (int i = 0; i < count; i++) {
                v0 += v1;
                v1 = Long.rotateLeft(v1, 13) ^ v0;
                v0 = Long.rotateLeft(v0, 32);
                v2 += v3;
                v3 = Long.rotateLeft(v3, 16) ^ v2;
                v0 += v3;
                v3 = Long.rotateLeft(v3, 21) ^ v0;
                v2 += v1;
                v1 = Long.rotateLeft(v1, 17) ^ v2;
                v2 = Long.rotateLeft(v2, 32);
            }
        }
    }
}
