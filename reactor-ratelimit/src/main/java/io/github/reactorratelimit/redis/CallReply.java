package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.redis.CommandReply.KeyStatus;
import io.github.reactorratelimit.redis.ScriptCall.KeyRun;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the reply of a call, as the head of frame.lua gives it, and ends the commands with it. */
final class CallReply {

    private static final Pattern INTEGER = Pattern.compile("0|-?[1-9]\\d{0,17}");
    private static final int VALUES_PER_KEY = 2;
    private static final int WORDS_OF_KEY = 5;
    private static final int WORDS_PER_COMMAND = 7;

    private final ScriptCall call;
    private final List<Object> values;
    private final long nowMicros;
    private @Nullable Failure failure;

    /** What the script said of a key that failed. */
    private record Failure(String said, Throwable error) {}

    /** @throws RedisReplyException if it is not what our script replies */
    CallReply(ScriptCall call, List<Object> values) {
        int expected = 1 + VALUES_PER_KEY * call.runs().size();
        if (values.size() != expected || !(values.get(0) instanceof Long now) || !Tick.MICROSECOND.holds(now)) {
            throw new RedisReplyException(
                    "reply has " + values.size() + " values instead of " + expected + ", or no time");
        }
        this.call = call;
        this.values = values;
        this.nowMicros = now;
    }

    /**
     * Ends all commands; of those that are decided together the first one last.
     *
     * @param ended receives those that are to be delivered
     */
    void end(List<PendingCommand> ended) {
        tellLimiters();
        KeyStatus plain = KeyStatus.plain(nowMicros);
        int count = call.runs().size();
        for (int i = 0; i < count; i++) {
            endOne(call.isTogether() ? count - 1 - i : i, plain, ended);
        }
    }

    /** The same after all deadlines have passed; the last slot first, so each is at the tail of what was reserved. */
    void endLate() {
        for (int index = 0; index < call.runs().size(); index++) {
            KeyRun run = call.runs().get(index);
            run.first().limiter.answeredLate(call.queue());
            if (values.get(1 + VALUES_PER_KEY * index) instanceof String text && !text.isEmpty() && !isError(text)) {
                List<CommandReply> replies = parse(run, text);
                for (int place = replies.size() - 1; place >= 0; place--) {
                    run.commands().get(place).end(replies.get(place));
                }
            }
        }
    }

    private static boolean isError(String text) {
        return text.charAt(0) == '-';
    }

    private void tellLimiters() {
        LimiterCommands last = null;
        for (KeyRun run : call.runs()) {
            LimiterCommands limiter = run.first().limiter;
            if (limiter != last) {
                limiter.answered(call.queue(), nowMicros);
                last = limiter;
            }
        }
    }

    private void endOne(int index, KeyStatus plain, List<PendingCommand> ended) {
        KeyRun run = call.runs().get(index);
        Object value = values.get(1 + VALUES_PER_KEY * index);
        try {
            if (value instanceof Long allowed && values.get(2 + VALUES_PER_KEY * index) instanceof Long owedParts) {
                endPlain(run, plain, allowed, owedParts, ended);
            } else if (!(value instanceof String text)) {
                throw new RedisReplyException("reply has neither a text nor two integers for a key");
            } else if (text.isEmpty()) {
                run.fail(call.queue(), new CommandGroup.NotDecidedException(), ended);
            } else if (isError(text)) {
                run.fail(call.queue(), errorOf(text.substring(1)), ended);
            } else {
                List<CommandReply> replies = parse(run, text);
                for (int place = 0; place < replies.size(); place++) {
                    end(run.commands().get(place), replies.get(place), ended);
                }
            }
        } catch (RedisReplyException malformed) {
            run.fail(call.queue(), malformed, ended);
        }
    }

    /** Replies to plain acquires: the first ones are allowed. */
    private static void endPlain(
            KeyRun run, KeyStatus status, long allowed, long owedParts, List<PendingCommand> ended) {
        BucketRate rate = run.policy.bucketRate();
        int size = run.commands().size();
        if (rate == null || allowed < 0 || allowed > size || owedParts < 0 || owedParts > rate.mostParts()) {
            throw new RedisReplyException("reply allows " + allowed + " of " + size + " acquires");
        }
        long costParts = rate.costParts(run.first().command.permits());
        long owed = owedParts - allowed * costParts;
        for (int place = 0; place < size; place++) {
            PendingCommand command = run.commands().get(place);
            boolean isAllowed = place < allowed;
            owed += isAllowed ? costParts : 0;
            end(command, rate.reply(command.command, run.policy, status, isAllowed, owed), ended);
        }
    }

    private static void end(PendingCommand command, CommandReply reply, List<PendingCommand> ended) {
        if (command.end(reply)) {
            ended.add(command);
        }
    }

    /** The same for all keys that fail alike: for the circuit breaker that is one failure. */
    private Throwable errorOf(String said) {
        Failure known = failure;
        if (known == null || !known.said().equals(said)) {
            known = new Failure(said, ReplyErrors.ofKey(said));
            failure = known;
        }
        return known.error();
    }

    private List<CommandReply> parse(KeyRun run, String text) {
        List<CommandReply> replies = parse(
                run.policy, run.commands().stream().map(one -> one.command).toList(), nowMicros, text);
        if (isUnsettled(text)) {
            PendingCommand first = run.first();
            first.limiter.send(first.key, run.policy, Command.peek(1)).subscribe(settled -> {}, left -> {});
        }
        return replies;
    }

    /**
     * The replies to the commands for one key.
     *
     * @throws RedisReplyException if it is not what our script replies
     */
    static List<CommandReply> parse(ScriptPolicy policy, List<Command> commands, long nowMicros, String text) {
        String[] parts = text.split("\\|", -1);
        boolean isAboutVersions = policy.isAboutVersions();
        if (parts.length != 1 + commands.size() + (isAboutVersions ? 1 : 0)) {
            throw new RedisReplyException("reply to " + commands.size() + " commands has " + (parts.length - 1));
        }
        KeyStatus status = status(nowMicros, parts[0]);
        String versions = isAboutVersions ? parts[parts.length - 1] : "";
        List<CommandReply> replies = new ArrayList<>(commands.size());
        for (int i = 0; i < commands.size(); i++) {
            replies.add(reply(commands.get(i), policy, status, parts[i + 1], versions));
        }
        return replies;
    }

    private static KeyStatus status(long nowMicros, String text) {
        String[] words = words(text, WORDS_OF_KEY);
        return new KeyStatus(
                nowMicros,
                notNegative("pause", words[0]),
                integer("shift", words[1]),
                notNegative("generation", words[2]),
                integer("tail", words[3]),
                words[4].equals("w"));
    }

    /** Whether freed slots are left for the next call to collapse. */
    static boolean isUnsettled(String text) {
        return text.startsWith("m", text.indexOf('|') - 1);
    }

    private static CommandReply reply(
            Command command, ScriptPolicy policy, KeyStatus status, String text, String versions) {
        String[] words = words(text, WORDS_PER_COMMAND);
        long allowed = notNegative("allowed", words[0]);
        long part = notNegative("part", words[4]);
        long wait = notNegative("wait", words[2]);
        boolean waitDecides = !policy.hasLeases() && command.op().isDecidedByWait();
        if (waitDecides ? allowed != (wait == 0 ? 1 : 0) : allowed > (command.op() == Command.Op.RESERVE ? 2 : 1)) {
            throw new RedisReplyException("reply says allowed " + allowed + " with a wait of " + wait);
        }
        if (part >= policy.partCount()) {
            throw new RedisReplyException("reply names part " + part + " of " + policy.partCount());
        }
        return new CommandReply(
                command,
                policy,
                status,
                allowed > 0,
                notNegative("remaining", words[1]),
                wait,
                notNegative("reset", words[3]),
                (int) part,
                words[5].equals("-") ? Algorithm.UNKNOWN : notNegative("more", words[5]),
                allowed == 2,
                notNegative("count", words[6]),
                versions);
    }

    private static String[] words(String text, int count) {
        String[] words = text.split(" ", -1);
        if (words.length != count) {
            throw new RedisReplyException("reply has " + words.length + " words instead of " + count);
        }
        return words;
    }

    private static long notNegative(String name, String word) {
        long number = integer(name, word);
        if (number < 0) {
            throw new RedisReplyException("reply has a negative " + name + ": " + number);
        }
        return number;
    }

    private static long integer(String name, String word) {
        long number = INTEGER.matcher(word).matches() ? Long.parseLong(word) : Long.MAX_VALUE;
        if (!Tick.MICROSECOND.holds(number)) {
            throw new RedisReplyException("reply has no integer below 2^53 as " + name);
        }
        return number;
    }
}
