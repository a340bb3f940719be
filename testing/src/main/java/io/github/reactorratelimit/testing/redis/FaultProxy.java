package io.github.reactorratelimit.testing.redis;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.FreePorts;
import io.lettuce.core.RedisURI;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy before a server, with the faults of a network. A fault is in force when its method returns, for open and new
 * connections, until another method is called. Everything happens on one separate thread.
 */
@SuppressWarnings("FutureReturnValueIgnored") // what fails to close is closed
public final class FaultProxy implements AutoCloseable {

    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(
            1, new DefaultThreadFactory("fault-proxy", true), NioIoHandler.newFactory());
    private final RedisURI targetUri;
    private final InetSocketAddress target;
    private final int port = FreePorts.next();
    private final List<Flow> flows = new ArrayList<>();
    private final LongAdder connections = new LongAdder();
    private final LongAdder requestBytes = new LongAdder();
    private final LongAdder replyBytes = new LongAdder();
    private final Map<String, LongAdder> commands = new ConcurrentHashMap<>();
    private Treatment requests = Treatment.PASS;
    private Treatment replies = Treatment.PASS;
    private @Nullable Channel listener;
    private @Nullable Future<?> healing;
    private volatile boolean listening;

    private FaultProxy(RedisURI target) {
        this.targetUri = target;
        this.target = new InetSocketAddress(target.getHost(), target.getPort());
    }

    /** A proxy that passes everything on, for now. */
    public static FaultProxy before(RedisURI target) {
        FaultProxy proxy = new FaultProxy(target);
        proxy.pass();
        return proxy;
    }

    /** Where clients connect; credentials, database and timeout are those of the target. */
    public RedisURI uri() {
        RedisURI uri = RedisURI.builder(targetUri).build();
        uri.setHost("127.0.0.1");
        uri.setPort(port);
        return uri;
    }

    /** No fault. What was stalled goes on; connections that lost bytes are reset. */
    public void pass() {
        treat(Treatment.PASS, Treatment.PASS);
    }

    /** Requests and replies arrive in order, each that much later. */
    public void latency(Duration eachWay) {
        treat(Treatment.delay(eachWay), Treatment.delay(eachWay));
    }

    /** Requests arrive and run at once, replies that much later. */
    public void delayReplies(Duration delay) {
        treat(Treatment.PASS, Treatment.delay(delay));
    }

    /** Nothing arrives until the next change, then all of it: packets are lost and sent again. */
    public void stall() {
        treat(Treatment.HOLD, Treatment.HOLD);
    }

    /** Connections are accepted, and everything is swallowed. */
    public void blackHole() {
        treat(Treatment.DROP, Treatment.DROP);
    }

    /** Everything is swallowed on connections that are open now, for as long as they are; there is no fault on new ones. */
    public void blackHoleOpenOnes() {
        onLoop(() -> List.copyOf(flows).forEach(Flow::lose));
    }

    /** Requests arrive and run, their replies are swallowed. */
    public void dropReplies() {
        treat(Treatment.PASS, Treatment.DROP);
    }

    /** Each connection is closed after the first {@code bytes} bytes of its next reply. */
    public void truncateReplies(int bytes) {
        treat(Treatment.PASS, Treatment.cutAfter(bytes));
    }

    /** Resets every connection and refuses new ones for a while; then there is no fault. */
    public void reset(Duration refusedFor) {
        refuse();
        onLoop(() -> healing = loop.schedule(
                () -> change(Treatment.PASS, Treatment.PASS), refusedFor.toNanos(), TimeUnit.NANOSECONDS));
    }

    /** Resets every connection and refuses new ones, as if there were no server. */
    public void refuse() {
        onLoop(() -> {
            cancelHealing();
            List.copyOf(flows).forEach(Flow::reset);
            if (listener != null) {
                listener.close();
                listener = null;
                listening = false;
            }
        });
        Await.until("port " + port + " closed", () -> FreePorts.isFree(port));
    }

    /** Connections accepted so far. */
    public long connections() {
        return connections.sum();
    }

    /** Bytes that clients have sent so far, whatever became of them. */
    public long requestBytes() {
        return requestBytes.sum();
    }

    /** Bytes that the server has sent so far, whatever became of them. */
    public long replyBytes() {
        return replyBytes.sum();
    }

    /** Commands that clients have sent so far, by name in capitals; those a script calls are not among them. */
    public Map<String, Long> commands() {
        Map<String, Long> counts = new TreeMap<>();
        commands.forEach((name, count) -> counts.put(name, count.sum()));
        return counts;
    }

    /** How often clients have sent this command so far. */
    public long commands(String name) {
        return commands().getOrDefault(name, 0L);
    }

    @Override
    public void close() {
        refuse();
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private void treat(Treatment newRequests, Treatment newReplies) {
        onLoop(() -> {
            cancelHealing();
            change(newRequests, newReplies);
        });
        Await.until("proxy listens on " + port, () -> listening);
    }

    private void change(Treatment newRequests, Treatment newReplies) {
        requests = newRequests;
        replies = newReplies;
        List.copyOf(flows).forEach(Flow::renew);
        listen();
    }

    private void cancelHealing() {
        if (healing != null) {
            healing.cancel(false);
            healing = null;
        }
    }

    private void listen() {
        if (listener != null) {
            return;
        }
        ChannelFuture bound = new ServerBootstrap()
                .group(loop)
                .channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.AUTO_READ, false)
                .childHandler(new ChannelInitializer<NioSocketChannel>() {
                    @Override
                    protected void initChannel(NioSocketChannel client) {
                        connections.increment();
                        join(client);
                    }
                })
                .bind("127.0.0.1", port);
        listener = bound.channel();
        bound.addListener(done -> listening = done.isSuccess());
    }

    /** Reads nothing from the client before the server has accepted. */
    private void join(Channel client) {
        new Bootstrap()
                .group(client.eventLoop())
                .channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<NioSocketChannel>() {
                    @Override
                    protected void initChannel(NioSocketChannel server) {
                        add(server, new Flow(server, client, () -> replies, this::countReply));
                    }

                    private void countReply(ByteBuf chunk) {
                        replyBytes.add(chunk.readableBytes());
                    }
                })
                .connect(target)
                .addListener((ChannelFuture connected) -> {
                    Flow flow = new Flow(client, connected.channel(), () -> requests, requestCounter());
                    if (connected.isSuccess()) {
                        add(client, flow);
                        client.config().setAutoRead(true);
                    } else {
                        flow.reset();
                    }
                });
    }

    private Consumer<ByteBuf> requestCounter() {
        RequestParser parser = new RequestParser(name ->
                commands.computeIfAbsent(name, ignored -> new LongAdder()).increment());
        return chunk -> {
            requestBytes.add(chunk.readableBytes());
            parser.read(chunk);
        };
    }

    private void add(Channel source, Flow flow) {
        flows.add(flow);
        source.pipeline().addLast(flow);
        source.closeFuture().addListener(closed -> flows.remove(flow));
    }

    private void onLoop(Runnable change) {
        loop.submit(change).syncUninterruptibly();
    }
}
