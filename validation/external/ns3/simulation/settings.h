// Everything that is given as --name=value.
#pragma once

#include "transfer.h"

#include "ns3/core-module.h"

#include <string>

struct Settings
{
    Plan plan;
    std::string prefix = "out";
    std::string link = "raw";
    std::string tcp = "TcpCubic";
    std::string queue = "FifoQueueDisc:MaxSize=100p";
    std::string senderQueue = "FifoQueueDisc:MaxSize=1000p";
    std::string reverseQueue = "FifoQueueDisc:MaxSize=300p";
    std::string middle = "in";
    std::string rateSteps;
    std::string delaySteps;
    std::string outages;
    std::string udp;
    std::string crossTcp;
    std::string crossCongestion = "TcpCubic";
    uint32_t seed = 1;
    uint32_t snap = 96;
    uint32_t delayedAcks = 2;
    uint32_t reverseTcp = 0;
    double rate = 10;
    double delay = 10;
    double accessRate = 1000;
    double accessDelay = 1;
    double exitRate = 1000;
    double exitDelay = 1;
    double loss = 0;
    double ackLoss = 0;
    double badShare = 0;
    double badLength = 3;
    double reorder = 0;
    double held = 0;
    double jitter = 0;
    double policedRate = 0;
    double policedBurst = 0;
    double minRto = 0.2;
    double delayedAckTimeout = 0.04;
    double stop = 120;
    bool sack = true;
    bool ecn = false;

    Settings(int argc, char* argv[])
    {
        CommandLine line;
        OfPath(line);
        OfTcp(line);
        OfTransfer(line);
        line.Parse(argc, argv);
    }

  private:
    void OfPath(CommandLine& line)
    {
        line.AddValue("prefix", "of the files", prefix);
        line.AddValue("link", "raw or ppp", link);
        line.AddValue("snap", "bytes per packet", snap);
        line.AddValue("seed", "run number", seed);
        line.AddValue("rate", "Mbit/s of the bottleneck", rate);
        line.AddValue("delay", "ms one way", delay);
        line.AddValue("accessRate", "", accessRate);
        line.AddValue("accessDelay", "", accessDelay);
        line.AddValue("exitRate", "", exitRate);
        line.AddValue("exitDelay", "", exitDelay);
        line.AddValue("queue", "Disc:Name=value;...", queue);
        line.AddValue("senderQueue", "", senderQueue);
        line.AddValue("reverseQueue", "", reverseQueue);
        line.AddValue("middle", "in or out: before or behind the bottleneck's queue", middle);
        line.AddValue("rateSteps", "s:Mbit/s,...", rateSteps);
        line.AddValue("delaySteps", "s:ms,...", delaySteps);
        line.AddValue("outages", "s:s,...", outages);
        line.AddValue("loss", "share of data packets", loss);
        line.AddValue("ackLoss", "", ackLoss);
        line.AddValue("badShare", "", badShare);
        line.AddValue("badLength", "", badLength);
        line.AddValue("reorder", "", reorder);
        line.AddValue("held", "s", held);
        line.AddValue("jitter", "s", jitter);
        line.AddValue("policedRate", "Mbit/s", policedRate);
        line.AddValue("policedBurst", "bytes", policedBurst);
        line.AddValue("stop", "s", stop);
    }

    void OfTcp(CommandLine& line)
    {
        line.AddValue("tcp", "congestion control", tcp);
        line.AddValue("sack", "", sack);
        line.AddValue("ecn", "", ecn);
        line.AddValue("mss", "", plan.mss);
        line.AddValue("minRto", "s", minRto);
        line.AddValue("delayedAcks", "segments", delayedAcks);
        line.AddValue("delayedAckTimeout", "s", delayedAckTimeout);
        line.AddValue("udp", "start:stop:Mbit/s:mean on s:mean off s,...", udp);
        line.AddValue("crossTcp", "start:stop:receive buffer,...", crossTcp);
        line.AddValue("crossCongestion", "", crossCongestion);
        line.AddValue("reverseTcp", "number of transfers the other way", reverseTcp);
    }

    void OfTransfer(CommandLine& line)
    {
        line.AddValue("app", "", plan.app);
        line.AddValue("download", "", plan.isDownload);
        line.AddValue("start", "", plan.start);
        line.AddValue("seconds", "", plan.seconds);
        line.AddValue("bytes", "", plan.bytes);
        line.AddValue("chunk", "", plan.chunk);
        line.AddValue("interval", "", plan.interval);
        line.AddValue("spread", "", plan.spread);
        line.AddValue("think", "", plan.think);
        line.AddValue("requests", "", plan.requests);
        line.AddValue("sndbuf", "", plan.sndbuf);
        line.AddValue("rcvbuf", "", plan.rcvbuf);
        line.AddValue("readRate", "", plan.readRate);
        line.AddValue("readPause", "", plan.readPause);
        line.AddValue("readEvery", "", plan.readEvery);
    }
};
