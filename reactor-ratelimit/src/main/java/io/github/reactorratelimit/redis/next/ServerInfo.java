package io.github.reactorratelimit.redis.next;

import io.github.reactorratelimit.redis.next.SelfTest.Finding;
import io.github.reactorratelimit.redis.next.SelfTest.Severity;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a server says of itself in {@code INFO}, judged. */
final class ServerInfo {

    private static final int MINIMUM_MAJOR = 5;

    private final Map<String, String> fields = new HashMap<>();

    ServerInfo(String info) {
        info.lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1).trim());
            }
        });
    }

    boolean isReplica() {
        return "slave".equals(fields.get("role"));
    }

    List<Finding> findings(boolean clusterConnection) {
        List<Finding> findings = new ArrayList<>();
        String version = fields.getOrDefault("redis_version", "");
        if (majorOf(version) < MINIMUM_MAJOR) {
            findings.add(new Finding(
                    Severity.ERROR, "Redis " + version + " is too old: " + MINIMUM_MAJOR + ".0 or later is needed"));
        }
        String eviction = fields.getOrDefault("maxmemory_policy", "noeviction");
        if (!eviction.equals("noeviction")) {
            findings.add(new Finding(
                    Severity.WARNING,
                    "maxmemory-policy is " + eviction + ": when memory is short Redis forgets what keys have spent, and"
                            + " they get their whole limit again. Set maxmemory-policy noeviction"));
        }
        String mode = fields.getOrDefault("redis_mode", "standalone");
        if (mode.equals("sentinel")) {
            findings.add(new Finding(
                    Severity.ERROR, "this is a Sentinel: connect with redis-sentinel://host:port#master instead"));
        } else if (mode.equals("cluster") && !clusterConnection) {
            findings.add(
                    new Finding(
                            Severity.ERROR,
                            "this is a node of a Cluster: use RedisStore.connectCluster, or a connection of a RedisClusterClient"));
        }
        if (isReplica()) {
            findings.add(new Finding(
                    Severity.ERROR,
                    "this is a replica, which takes no writes: connect to the master, or through Sentinel"));
        }
        return findings;
    }

    /** A version that cannot be read is taken for a new one. */
    private static int majorOf(String version) {
        int dot = version.indexOf('.');
        String major = dot < 0 ? version : version.substring(0, dot);
        return major.matches("\\d{1,6}") ? Integer.parseInt(major) : Integer.MAX_VALUE;
    }
}
