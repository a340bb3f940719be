package io.github.reactorratelimit.redis.harness;

import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What the processes of a run have to know; travels as their arguments.
 *
 * @param cluster whether the servers are a cluster
 * @param uris of the servers
 * @param run the name of the run, which no other has
 * @param processes how many there are
 * @param duration how long they ask
 * @param keys keys of each row
 * @param lanes asks in flight for each key in each process
 * @param pause of a lane that was denied
 * @param rows what is hammered at the same time
 */
record HammerPlan(
        boolean cluster,
        List<RedisURI> uris,
        String run,
        int processes,
        Duration duration,
        int keys,
        int lanes,
        Duration pause,
        List<HammerRow> rows) {

    List<String> arguments() {
        return List.of(
                Boolean.toString(cluster),
                uris.stream().map(uri -> uri.toURI().toString()).collect(Collectors.joining(",")),
                run,
                Integer.toString(processes),
                duration.toString(),
                Integer.toString(keys),
                Integer.toString(lanes),
                pause.toString(),
                rows.stream().map(HammerRow::name).collect(Collectors.joining(",")));
    }

    static HammerPlan parse(String... arguments) {
        return new HammerPlan(
                Boolean.parseBoolean(arguments[0]),
                Arrays.stream(arguments[1].split(",", -1)).map(RedisURI::create).toList(),
                arguments[2],
                Integer.parseInt(arguments[3]),
                Duration.parse(arguments[4]),
                Integer.parseInt(arguments[5]),
                Integer.parseInt(arguments[6]),
                Duration.parse(arguments[7]),
                Arrays.stream(arguments[8].split(",", -1))
                        .map(HammerRow::valueOf)
                        .toList());
    }

    Connected connect() {
        return cluster ? Connected.toCluster(uris) : Connected.to(uris.get(0));
    }
}
