package io.github.reactorratelimit.hashing;

import java.security.SecureRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Schedulers;

/**
 * SipHash-2-4 over the UTF-16 code units of a key, under a secret seed: who does not know the seed
 * cannot choose keys that share a cell with a victim. {@link String#hashCode} cannot do that, everybody can
 * compute it.
 */
public final class KeyedHash {

    private static final AtomicLong TABLES = new AtomicLong();

    /** Set once; until then hashes are seeded weakly. */
    private static volatile @Nullable KeyedHash processSecret;

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

    private final long seed0;
    private final long seed1;

    /** A hash with a seed that is known: the same in every process. */
    public KeyedHash(long seed0, long seed1) {
        this.seed0 = seed0;
        this.seed1 = seed1;
    }

    private static void readSecret() {
        SecureRandom random = new SecureRandom();
        processSecret = new KeyedHash(random.nextLong(), random.nextLong());
    }

    /** Has the secret of this process read, so that it is there when a hash is needed. */
    public static void prepare() {
        // Loading the class does it.
    }

    /** A hash with a seed of its own, derived from the secret of this process; never blocks. */
    public static KeyedHash create() {
        long table = TABLES.incrementAndGet();
        KeyedHash secret = processSecret;
        KeyedHash source = secret == null ? weak() : secret;
        return new KeyedHash(source.of("0" + table), source.of("1" + table));
    }

    /** Of numbers that somebody who sees enough of them could tell. */
    private static KeyedHash weak() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return new KeyedHash(random.nextLong(), random.nextLong());
    }

    /** The hash of a key. */
    public long of(String key) {
        Sip sip = new Sip(seed0, seed1);
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
