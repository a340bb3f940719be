package io.github.reactorratelimit.hazelcast;

import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.ExtendedMapEntry;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Changes one value if it is the expected one. Runs where the key lives. */
final class CompareAndSwap implements EntryProcessor<String, byte[], Boolean> {

    private static final long serialVersionUID = 1L;

    private final byte @Nullable [] expected;
    private final byte @Nullable [] next;
    private final long timeToLiveMillis;

    /**
     * @param expected the value that must be there; null for none
     * @param next the value to store; null to remove it
     * @param timeToLiveMillis how long {@code next} is kept
     */
    CompareAndSwap(byte @Nullable [] expected, byte @Nullable [] next, long timeToLiveMillis) {
        this.expected = expected;
        this.next = next;
        this.timeToLiveMillis = timeToLiveMillis;
    }

    @Override
    @SuppressWarnings("NullAway") // Hazelcast removes an entry whose value becomes null
    public Boolean process(Map.Entry<String, byte[]> entry) {
        if (!Arrays.equals(entry.getValue(), expected)) {
            return false;
        }
        if (next == null) {
            entry.setValue(null);
        } else {
            ((ExtendedMapEntry<String, byte[]>) entry).setValue(next, timeToLiveMillis, TimeUnit.MILLISECONDS);
        }
        return true;
    }
}
