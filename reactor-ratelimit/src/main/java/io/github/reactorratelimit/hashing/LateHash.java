package io.github.reactorratelimit.hashing;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A {@link KeyedHash} that is seeded when it is first needed: by then the secret of this process has been read. */
public final class LateHash {

    private final AtomicReference<@Nullable KeyedHash> keyed = new AtomicReference<>();

    /** Not seeded yet; starts reading the secret of this process if nobody did. */
    public LateHash() {
        KeyedHash.prepare();
    }

    /** The hash of a key. */
    public long of(String key) {
        KeyedHash known = keyed.get();
        return (known == null ? seeded() : known).of(key);
    }

    private KeyedHash seeded() {
        KeyedHash created = KeyedHash.create();
        KeyedHash other = keyed.compareAndExchange(null, created);
        return other == null ? created : other;
    }
}
