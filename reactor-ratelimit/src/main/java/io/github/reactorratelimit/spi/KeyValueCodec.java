package io.github.reactorratelimit.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.PolicyText;
import java.nio.ByteBuffer;
import java.util.function.Function;

/**
 * The bytes of a {@link KeyValue}: a format version, the time, the end of the pause, the policy as text behind its length, and the state
 * as longs. Big endian.
 */
final class KeyValueCodec {

    private static final byte VERSION = 1;

    private KeyValueCodec() {}

    static <S> byte[] encode(KeyValue<S> value) {
        byte[] policy = PolicyText.format(value.steps().policy()).getBytes(UTF_8);
        long[] state = value.steps().toLongs(value.state());
        ByteBuffer bytes = ByteBuffer.allocate(
                Byte.BYTES + 2 * Long.BYTES + Short.BYTES + policy.length + state.length * Long.BYTES);
        bytes.put(VERSION).putLong(value.now()).putLong(value.pausedUntil());
        bytes.putShort((short) policy.length).put(policy);
        for (long each : state) {
            bytes.putLong(each);
        }
        return bytes.array();
    }

    /** @throws StoreUnavailableException if it is not what {@link #encode} makes, or what another version of it makes */
    static KeyValue<?> decode(byte[] stored, Function<RateLimitPolicy, Algorithm<?>> algorithms) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(stored);
            byte version = bytes.get();
            if (version != VERSION) {
                throw new StoreUnavailableException(
                        "a key's value has format version " + version + ", this library reads " + VERSION, null);
            }
            long now = bytes.getLong();
            long pausedUntil = bytes.getLong();
            byte[] policy = new byte[bytes.getShort()];
            bytes.get(policy);
            Algorithm<?> steps = algorithms.apply(PolicyText.parse(new String(policy, UTF_8)));
            long[] state = new long[bytes.remaining() / Long.BYTES];
            bytes.asLongBuffer().get(state);
            return value(steps, state, pausedUntil, now);
        } catch (StoreUnavailableException known) {
            throw known;
        } catch (RuntimeException corrupt) {
            throw new StoreUnavailableException("a key's value cannot be read", corrupt);
        }
    }

    private static <S> KeyValue<S> value(Algorithm<S> steps, long[] state, long pausedUntil, long now) {
        return new KeyValue<>(steps, steps.ofLongs(state), pausedUntil, now);
    }
}
