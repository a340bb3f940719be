package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.protocol.CommandType;
import org.junit.jupiter.api.Test;

class ConnectionOptionsTest {

    private static ClientOptions.Builder safe() {
        return ClientOptions.builder()
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(1_000)
                .replayFilter(command -> true);
    }

    @Test
    void defaultOptionsGetThreeFindingsThatSayWhatToSet() {
        assertThat(ConnectionOptions.advice(ClientOptions.create()))
                .satisfiesExactly(
                        finding -> assertThat(finding).contains("disconnectedBehavior(REJECT_COMMANDS)"),
                        finding -> assertThat(finding).contains("requestQueueSize("),
                        finding -> assertThat(finding).contains("replayFilter(command -> true)"));
    }

    @Test
    void safeOptionsGetNone() {
        assertThat(ConnectionOptions.advice(safe().build())).isEmpty();
    }

    @Test
    void connectionThatDoesNotReconnectNeitherQueuesNorReplays() {
        ClientOptions options = ClientOptions.builder()
                .autoReconnect(false)
                .requestQueueSize(1_000)
                .build();
        assertThat(ConnectionOptions.advice(options)).isEmpty();
    }

    @Test
    void acceptingCommandsWhileDisconnectedIsFound() {
        ClientOptions options = safe().disconnectedBehavior(DisconnectedBehavior.ACCEPT_COMMANDS)
                .build();
        assertThat(ConnectionOptions.advice(options)).singleElement().asString().contains("disconnectedBehavior");
    }

    @Test
    void replayFilterThatLetsScriptsPassIsFound() {
        ClientOptions filtersOthers = safe().replayFilter(command -> command.getType() == CommandType.INCR)
                .build();
        assertThat(ConnectionOptions.advice(filtersOthers))
                .singleElement()
                .asString()
                .contains("replayFilter");
        ClientOptions filtersScripts = safe().replayFilter(
                        command -> command.getType().toString().startsWith("EVAL"))
                .build();
        assertThat(ConnectionOptions.advice(filtersScripts)).isEmpty();
    }

    @Test
    void clusterThatNeverRefreshesIsFound() {
        ClusterClientOptions.Builder builder = ClusterClientOptions.builder();
        builder.replayFilter(command -> true);
        ClusterClientOptions options = builder.disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(1_000)
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .disableAllAdaptiveRefreshTriggers()
                        .build())
                .build();
        assertThat(ConnectionOptions.advice(options)).singleElement().asString().contains("topologyRefreshOptions");
    }
}
