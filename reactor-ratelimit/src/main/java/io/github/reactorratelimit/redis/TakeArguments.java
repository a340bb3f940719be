package io.github.reactorratelimit.redis;

import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.protocol.CommandArgs;
import java.nio.charset.StandardCharsets;

/** The arguments of takes.lua under one policy. What many calls have in common is written once and kept. */
final class TakeArguments {

    private static final byte[] SHA1 = bytes(RedisScript.takes().sha1());
    private static final byte[] TEXT = bytes(RedisScript.takes().text());
    private static final byte[] SERVER_TIME = {};
    private static final byte[][] NUMBERS = numbers(TakePipe.MAX_ASKS);
    private static final int KEYS_PER_RUN = 2;

    private final TakeTerms terms;
    private final byte[] partsPerTick;
    private final byte[] mostParts;
    private final byte[] costOfOne;

    TakeArguments(TakeTerms terms) {
        this.terms = terms;
        this.partsPerTick = bytes(Long.toString(terms.partsPerTick()));
        this.mostParts = bytes(Long.toString(terms.mostParts()));
        this.costOfOne = bytes(Long.toString(terms.cost(1)));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[][] numbers(int count) {
        byte[][] numbers = new byte[count + 1][];
        for (int i = 0; i <= count; i++) {
            numbers[i] = bytes(Integer.toString(i));
        }
        return numbers;
    }

    /** @param withText whether the server does not know the script */
    CommandArgs<String, String> of(TakeCall call, TakePipes pipes, boolean withText) {
        RedisCodec<String, String> codec = pipes.codec();
        CommandArgs<String, String> arguments =
                new CommandArgs<>(codec).add(withText ? TEXT : SHA1).add(NUMBERS[KEYS_PER_RUN * call.runs()]);
        for (TakeRun run = call.firstRun(); run != null; run = run.following()) {
            pipes.addState(arguments, run.first().key());
        }
        for (TakeRun run = call.firstRun(); run != null; run = run.following()) {
            pipes.addNotes(arguments, run.first().key());
        }
        arguments.add(SERVER_TIME).add(partsPerTick).add(mostParts);
        boolean alike = call.areAlike();
        for (TakeRun run = call.firstRun(); run != null; run = alike ? null : run.following()) {
            addCost(arguments, run.first().permits());
            arguments.add(NUMBERS[run.count()]);
        }
        return arguments;
    }

    private void addCost(CommandArgs<String, String> arguments, long permits) {
        if (permits == 1) {
            arguments.add(costOfOne);
        } else {
            arguments.add(terms.cost(permits));
        }
    }
}
