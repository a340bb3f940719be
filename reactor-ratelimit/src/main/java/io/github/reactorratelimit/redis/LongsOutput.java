package io.github.reactorratelimit.redis;

import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;

/** An array of integers, without an object for each. */
final class LongsOutput extends CommandOutput<String, String, long[]> {

    private static final long[] NONE = {};

    private int filled;
    private boolean strange;

    LongsOutput(RedisCodec<String, String> codec) {
        super(codec, NONE);
    }

    /** The integers; none if it is not an array of them. */
    long[] integers() {
        return strange || filled != output.length ? NONE : output;
    }

    @Override
    public void multi(int count) {
        if (output.length > 0 || count < 0) {
            strange = true;
        } else {
            output = new long[count];
        }
    }

    @Override
    public void set(long integer) {
        if (filled < output.length) {
            output[filled++] = integer;
        } else {
            strange = true;
        }
    }

    @Override
    public void set(ByteBuffer bytes) {
        strange = true;
    }
}
