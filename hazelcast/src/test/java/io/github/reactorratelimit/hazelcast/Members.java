package io.github.reactorratelimit.hazelcast;

import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;

/** Members on the loopback address that find each other by their ports, and call nobody else. */
final class Members {

    private static final int PORTS = 4;

    private Members() {}

    static HazelcastInstance start(String cluster, int firstPort) {
        Config config = new Config().setClusterName(cluster);
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.socket.bind.any", "false");
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.shutdownhook.enabled", "false");
        config.setProperty("hazelcast.partition.count", "31");
        config.setProperty("hazelcast.operation.thread.count", "2");
        config.setProperty("hazelcast.wait.seconds.before.join", "0");
        config.getJetConfig().setEnabled(false);
        config.getIntegrityCheckerConfig().setEnabled(false);
        config.getNetworkConfig().setPort(firstPort).setPortCount(PORTS);
        config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        JoinConfig join = config.getNetworkConfig().getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(false);
        join.getTcpIpConfig().setEnabled(true);
        for (int port = firstPort; port < firstPort + PORTS; port++) {
            join.getTcpIpConfig().addMember("127.0.0.1:" + port);
        }
        return Hazelcast.newHazelcastInstance(config);
    }
}
