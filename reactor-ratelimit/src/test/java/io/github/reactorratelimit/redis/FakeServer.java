package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Takes calls and replies to them when a test says so: each command is allowed, and {@code remaining} is the number of calls that came before. Fails
 * if two calls in flight have a key in common.
 */
final class FakeServer implements CommandQueue.Connection {

    /** The time that it tells. */
    static final long NOW = 1_000;

    private static final int SCRIPT = 1;

    /** A call in flight. */
    record Call(List<String> keys, List<String> entries, AsyncCommand<String, String, List<Object>> future) {}

    private final Queue<Call> calls = new ConcurrentLinkedQueue<>();
    private final List<Call> live = new ArrayList<>();
    private final CommandQueues queues = new CommandQueues(this, null, () -> {});
    private volatile String broken = "";
    private int sent;
    private Runnable duringNext = () -> {};

    CommandQueues queues() {
        return queues;
    }

    CommandQueue queue() {
        return queues.of("any");
    }

    /** What went wrong; empty if nothing did. */
    String broken() {
        return broken;
    }

    int inFlight() {
        return calls.size();
    }

    @Override
    public synchronized RedisFuture<List<Object>> dispatch(
            CommandType type,
            CommandOutput<String, String, List<Object>> output,
            CommandArgs<String, String> arguments) {
        Runnable meanwhile = duringNext;
        duringNext = () -> {};
        meanwhile.run();
        List<String> words = wordsOf(arguments);
        int keyCount = Integer.parseInt(words.get(SCRIPT));
        List<String> keys = words.subList(SCRIPT + 1, SCRIPT + 1 + keyCount);
        List<String> rest = words.subList(SCRIPT + 1 + keyCount, words.size());
        int policies = Integer.parseInt(rest.get(1).replace("a", ""));
        List<String> entries = new ArrayList<>(rest.subList(2 + policies, rest.size()));
        while (entries.size() < keyCount) {
            entries.add(entries.get(0));
        }
        for (Call other : live) {
            if (keys.stream().anyMatch(other.keys::contains)) {
                broken = "two calls in flight for one of " + keys;
            }
        }
        AsyncCommand<String, String, List<Object>> future = new AsyncCommand<>(new Command<>(type, output, arguments));
        Call call = new Call(List.copyOf(keys), List.copyOf(entries), future);
        future.whenComplete((done, error) -> over(call));
        sent++;
        live.add(call);
        calls.add(call);
        return future;
    }

    private synchronized void over(Call call) {
        live.remove(call);
    }

    private static List<String> wordsOf(CommandArgs<String, String> arguments) {
        io.netty.buffer.ByteBuf buffer = io.netty.buffer.Unpooled.buffer();
        arguments.encode(buffer);
        String[] lines = buffer.toString(StandardCharsets.UTF_8).split("\r\n", -1);
        List<String> words = new ArrayList<>();
        for (int i = 1; i < lines.length; i += 2) {
            words.add(lines[i]);
        }
        return words;
    }

    /** Runs while the next call is being sent. */
    synchronized void duringNext(Runnable meanwhile) {
        duringNext = meanwhile;
    }

    /** Replies to the oldest call; false if there is none. */
    boolean reply() {
        return reply(FakeServer::replyTo);
    }

    /** The oldest call fails for each of its keys. */
    boolean replyError(String error) {
        return reply(entry -> "-" + error);
    }

    /** Replies with exactly these values to the oldest call. */
    void replyValues(@Nullable Object... values) {
        end(calls.remove(), Arrays.asList(values));
    }

    private boolean reply(UnaryOperator<String> replyTo) {
        Call call = calls.poll();
        if (call == null) {
            return false;
        }
        List<Object> values = new ArrayList<>(List.of(NOW));
        for (String entry : call.entries) {
            values.add(replyTo.apply(entry));
            values.add(0L);
        }
        end(call, values);
        return true;
    }

    /** Also if it was cancelled, like Lettuce. */
    private void end(Call call, List<@Nullable Object> values) {
        write(values, call.future.getOutput());
        call.future.getOutput().complete(0);
        over(call);
        call.future.complete();
    }

    private static void write(List<@Nullable Object> values, CommandOutput<String, String, List<Object>> output) {
        output.multi(values.size());
        for (Object value : values) {
            if (value instanceof Long integer) {
                output.set(integer);
            } else if (value instanceof List<?> nested) {
                write(new ArrayList<>(nested), output);
                output.complete(1);
            } else {
                output.set(
                        value == null ? null : ByteBuffer.wrap(value.toString().getBytes(StandardCharsets.UTF_8)));
            }
        }
    }

    private static String replyTo(String entry) {
        StringBuilder reply = new StringBuilder("0 0 0 0 -");
        String[] words = entry.split(" ");
        for (int i = 1; i < words.length; i += 3) {
            int count = words[i].length() == 1 ? 1 : Integer.parseInt(words[i].substring(1));
            reply.append("|1 0 0 0 0 - 0".repeat(count));
        }
        return reply.toString();
    }

    synchronized int sent() {
        return sent;
    }
}
